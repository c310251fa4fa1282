// The inbox: everything over all projects that needs a person. Opened at `#inbox`.

import { mount, unmount } from "svelte";
import { replace } from "../dom.ts";
import type { Page } from "../page.ts";
import { inbox } from "./inbox.svelte.ts";
import InboxView from "./InboxView.svelte";

export class InboxPage {
  readonly #page: Page;
  #shown: ReturnType<typeof mount> | null = null;

  constructor(page: Page) {
    this.#page = page;
  }

  async open(): Promise<void> {
    const { title, failed, root } = this.#page;
    title("Inbox");
    const read = inbox.open();
    replace(root);
    this.#shown = mount(InboxView, { target: root, props: { onError: failed } });
    await read;
  }

  /** The connection was away. */
  async again(): Promise<void> {
    await inbox.read().catch(this.#page.failed);
  }

  frame(): void {}

  close(): void {
    inbox.close();
    if (this.#shown) void unmount(this.#shown);
    this.#shown = null;
  }
}
