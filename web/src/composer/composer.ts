// The message field of the open session. The view of the session calls it; what it shows is `Composer.svelte`.

import { flushSync, mount } from "svelte";
import ComposerForm from "./Composer.svelte";
import { ComposerState, type Handlers } from "./state.svelte.ts";
import type { Detail, OpenedSession, SeenFrame } from "./types.ts";

export class Composer {
  readonly #state: ComposerState;

  /** `onError(error)` gets what could not be done, `onSent()` is called when a message was sent, `onGone(id)` when a session
   * was removed in favour of another one. */
  constructor(handlers: Handlers) {
    this.#state = new ComposerState(handlers);
    mount(ComposerForm, { target: place(), props: { composer: this.#state } });
    flushSync();
    // A reload, or signing in again, takes nothing away that was written.
    addEventListener("pagehide", () => {
      this.#state.keepDraft();
      this.#state.drafts.store();
    });
  }

  /** Write to this session from now on; null hides the form. */
  open(session: OpenedSession | null): void {
    this.#state.open(session);
    flushSync();
  }

  /** The session's own data changed. */
  update(detail: Detail): void {
    const focused = document.activeElement;
    this.#state.update(detail);
    flushSync();
    // The keyboard goes on where the question is, or in the field, not at the beginning of the page.
    if (focused === this.#field && this.#field.hidden) document.getElementById("questions")?.focus({ preventScroll: true });
    else if (focused && !focused.isConnected) this.focus();
  }

  frame(frame: SeenFrame): void {
    this.#state.frame(frame);
  }

  /** Put a suggestion into the field. */
  suggest(text: string): void {
    this.#put(text);
  }

  /** Put a quotation below what is written, and the caret below it. */
  quote(text: string): void {
    const written = this.#state.text.trimEnd();
    this.#put(`${written}${written ? "\n\n" : ""}${text.trimEnd()}\n\n`);
  }

  /** Write a message of the conversation anew: sending it rewinds to before it. */
  rewrite(id: string, content: string): void {
    this.#state.rewrite(id, content);
    flushSync();
    this.focus();
  }

  focus(): void {
    if (this.#state.session) this.#field.focus({ preventScroll: true });
  }

  get #field(): HTMLTextAreaElement {
    return document.getElementById("message") as HTMLTextAreaElement;
  }

  #put(text: string): void {
    this.#state.text = text;
    flushSync();
    this.#field.focus();
    this.#field.setSelectionRange(text.length, text.length);
  }
}

function place(): HTMLElement {
  const found = document.getElementById("composer-place");
  if (!found) throw new Error("the page has no place for the composer");
  return found;
}
