// The panel beside the conversation, as the view of the session calls it.

import { flushSync, mount } from "svelte";
import { byId, findById } from "../dom.ts";
import { Panel, type Handlers } from "./panel.svelte.ts";
import type { Frame, OpenSession, Place } from "./types.ts";
import Workspace from "./Workspace.svelte";

/** The panel lies over the page. */
const OVER = matchMedia("(max-width: 1099.98px)");

export class Details {
  readonly #panel: Panel;
  readonly #root: HTMLElement;

  constructor(handlers: Handlers) {
    this.#root = byId("details");
    const onQuote = (text: string) => {
      // What lies over the message field makes room for it.
      if (OVER.matches) findById("close-details")?.click();
      handlers.onQuote(text);
    };
    this.#panel = new Panel({ ...handlers, onQuote });
    mount(Workspace, { target: this.#root, props: { panel: this.#panel } });
    flushSync();
  }

  get open(): boolean {
    return this.#panel.open;
  }

  show(session: OpenSession | null): void {
    this.#panel.show(session);
  }

  toggle(open: boolean): void {
    this.#root.hidden = !open;
    this.#panel.open = open;
  }

  /** Follow the stream: what a tab shows may have changed. */
  frame(frame: Frame): void {
    this.#panel.frame(frame);
  }

  draw(): void {
    this.#panel.drawn += 1;
  }

  /** Open what an address names. Returns whether that closes a subagent, which is what lay over the page then. */
  go(place: Place | null): boolean {
    const had = this.#panel.agent !== null;
    this.#panel.go(place);
    return had && this.#panel.agent === null;
  }
}
