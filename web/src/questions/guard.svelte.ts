// What keeps an answer from being given by accident: a card takes none right after it has appeared or moved, and its
// keys only while a person has put the focus on it.

const HELD_MS = 500;
const MOVES = new Set(["Tab", "j", "k", "ArrowUp", "ArrowDown", "Home", "End"]);
const FIELDS = "input, textarea, select, [contenteditable]";
const shown = new Set<Guard>();
/** A person moves the focus at this moment. */
let moving = false;

export class Guard {
  /** The card was in its place long enough. */
  ready = $state(false);
  /** A person has put the focus on the card itself. */
  #taken = false;
  #timer = 0;

  /** The card has appeared. Return what is to be done when it leaves. Cards below it have moved. */
  appear(): () => void {
    shown.add(this);
    holdAll();
    return () => {
      shown.delete(this);
      clearTimeout(this.#timer);
      holdAll();
    };
  }

  /** Take no answer for a moment. */
  hold(): void {
    this.ready = false;
    clearTimeout(this.#timer);
    this.#timer = window.setTimeout(() => (this.ready = true), HELD_MS);
  }

  /** The card itself got the focus; `own`: it gives it back to itself. */
  focused(own = false): void {
    this.#taken ||= own || moving;
  }

  /** Something else has the focus. A window that is left keeps it where it was. */
  left(card: Element): void {
    if (document.activeElement !== card) this.#taken = false;
  }

  /** Whether a key answers now. */
  takes(event: KeyboardEvent): boolean {
    return this.ready && this.#taken && !event.repeat && !event.shiftKey;
  }
}

function holdAll(): void {
  for (const guard of shown) guard.hold();
}

function moves(): void {
  moving = true;
  setTimeout(() => (moving = false));
}

addEventListener(
  "keydown",
  (event) => {
    const writes = event.target instanceof Element && event.target.closest(FIELDS);
    if (event.isTrusted && MOVES.has(event.key) && (event.key === "Tab" || !writes)) moves();
  },
  true,
);
addEventListener("mousedown", (event) => event.isTrusted && event.target instanceof Element && event.target.closest(".question") && moves(), true);
// Who comes back to the page has not seen what came meanwhile.
document.addEventListener("visibilitychange", holdAll);
addEventListener("focus", holdAll);
