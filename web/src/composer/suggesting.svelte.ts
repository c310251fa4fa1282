// Suggestions while somebody writes: when they are looked up, and the keys that choose among them.

import { tick } from "svelte";
import type { Completion, Suggestion } from "./completion.svelte.ts";
import { sends } from "./keys.ts";
import type * as More from "./more.ts";
import type { ComposerState } from "./state.svelte.ts";
import { triggerOf, type Trigger } from "./trigger.ts";

interface Given {
  composer: ComposerState;
  field(): HTMLTextAreaElement;
  /** Fetch what suggestions are made with; null when it cannot be. */
  parts(): Promise<typeof More | null>;
  submit(): Promise<void>;
}

export class Suggesting {
  completion = $state.raw<Completion | null>(null);
  readonly #given: Given;
  /** What is being looked up: until it ends, the suggestions shown are those for an earlier word. */
  #underWay: Promise<void> | null = null;
  #ended: Promise<void> | null = null;

  constructor(given: Given) {
    this.#given = given;
  }

  look(): void {
    const one: Promise<void> = this.#look().finally(() => {
      if (this.#underWay !== one) return;
      this.#underWay = null;
      this.#ended = one;
    });
    this.#underWay = one;
  }

  leave(): void {
    this.#underWay = null;
    void this.completion?.look(null);
  }

  async take(item?: Suggestion): Promise<void> {
    const { composer } = this.#given;
    this.#underWay = null;
    const caret = this.completion?.take(item) ?? 0;
    await tick();
    const field = this.#given.field();
    field.focus({ preventScroll: true });
    field.setSelectionRange(caret, caret);
    if (composer.text === "/") this.look();
  }

  /** Whether the key was for the suggestions. */
  press(event: KeyboardEvent): boolean {
    const open = this.completion?.open ? this.completion : null;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape") this.#underWay = null;
    if (open && step) open.move(step);
    else if (open && event.key === "Escape") open.dismiss();
    else if (!this.#takes(event, open !== null)) return false;
    else if (this.#underWay) void this.#takeFound(event, this.#underWay);
    else void this.take();
    event.preventDefault();
    event.stopPropagation();
    return true;
  }

  /** Enter means what is found for the word as it stands, however long that takes. */
  #takes(event: KeyboardEvent, open: boolean): boolean {
    if (event.shiftKey || event.ctrlKey || event.metaKey) return false;
    if (event.key === "Enter") return open || (this.#underWay !== null && sends(event));
    return event.key === "Tab" && open;
  }

  async #takeFound({ key, repeat }: KeyboardEvent, underWay: Promise<void>): Promise<void> {
    const { composer } = this.#given;
    const { session, text } = composer;
    if (repeat) return;
    await underWay;
    // Something else was written, or somebody has changed their mind.
    if (this.#ended !== underWay || session !== composer.session || text !== composer.text) return;
    this.#ended = null;
    if (this.completion?.open) await this.take();
    else if (key === "Enter") await this.#given.submit();
  }

  async #look(): Promise<void> {
    if (this.completion === null && this.#trigger() === null) return;
    // The first that asks for the parts can get them last: what counts is what is written by then.
    const parts = await this.#given.parts();
    if (parts) await (this.completion ??= new parts.Completion(this.#given.composer)).look(this.#trigger());
  }

  #trigger(): Trigger | null {
    const field = this.#given.field();
    if (document.activeElement !== field || field.selectionStart !== field.selectionEnd) return null;
    return triggerOf(field.value, field.selectionStart);
  }
}
