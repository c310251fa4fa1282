// What was done in a list stays in its place while somebody may press something in that list: what is below would come to lie
// under the pointer, and be pressed by the second half of a double click.

/** So long something done can be read when no pointer rests on the list. */
const READ_MS = 5000;
/** The same when nothing is left that could be pressed, wherever the pointer is. */
const LAST_MS = 2500;

export class Stillness {
  readonly #release: () => void;
  readonly #isLast: () => boolean;
  #root: Element | null = null;
  #over = false;
  #keeps = false;
  #timer = 0;

  /** `release` lets go what is done. `isLast` tells whether nothing is left to press. */
  constructor(release: () => void, isLast: () => boolean = () => false) {
    this.#release = release;
    this.#isLast = isLast;
  }

  /** Whether a pointer rests on the list. */
  get over(): boolean {
    return this.#over;
  }

  /** Whether somebody is at the list, with the pointer or the keyboard. */
  get used(): boolean {
    return this.#over || this.#focused();
  }

  /** Follow who is at this list. Returns what stops it. */
  watch(root: HTMLElement): () => void {
    const stop = new AbortController();
    const { signal } = stop;
    this.#root = root;
    root.addEventListener("pointerover", () => this.#move(true), { signal });
    root.addEventListener("pointerleave", () => this.#move(false), { signal });
    root.addEventListener("pointercancel", () => this.#move(false), { signal });
    // Where the focus goes is known afterwards.
    root.addEventListener("focusout", () => setTimeout(() => this.#keeps && !this.used && document.hasFocus() && this.#letGo()), { signal });
    return () => {
      stop.abort();
      this.#root = null;
      this.#over = false;
      this.forget();
    };
  }

  /** Something was done: it stays for now. */
  keep(): void {
    this.#keeps = true;
    this.#wait();
  }

  /** Nothing stays any more. */
  forget(): void {
    this.#keeps = false;
    clearTimeout(this.#timer);
  }

  #focused(): boolean {
    return this.#root?.contains(document.activeElement) ?? false;
  }

  #move(over: boolean): void {
    if (over === this.#over) return;
    this.#over = over;
    if (this.#keeps) this.#wait();
  }

  #wait(): void {
    clearTimeout(this.#timer);
    const last = this.#isLast();
    if (last || !this.#over) this.#timer = window.setTimeout(() => this.#end(), last ? LAST_MS : READ_MS);
  }

  /** The time is over. Meanwhile something that can be pressed may have come. */
  #end(): void {
    if (this.#over && !this.#isLast()) this.#wait();
    else this.#letGo();
  }

  #letGo(): void {
    this.forget();
    this.#release();
  }
}
