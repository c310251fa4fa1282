// The settings: providers, models, appearance, access tokens. Opened at `#settings/...`.

import { mount, unmount } from "svelte";
import { replace } from "../dom.ts";
import type { Page } from "../page.ts";
import Settings from "./Settings.svelte";

export class SettingsPage {
  #page: Page;
  #section: string;
  /** What the address names in the section. */
  #name: string | null;
  #shown: ReturnType<typeof mount> | null = null;

  constructor(page: Page, route: { section: string; name: string | null }) {
    this.#page = page;
    this.#section = route.section;
    this.#name = route.name;
  }

  async open(): Promise<void> {
    this.#page.title("Settings");
    this.close();
    replace(this.#page.root);
    this.#shown = mount(Settings, { target: this.#page.root, props: { section: this.#section, name: this.#name, onError: (error: unknown) => this.#page.failed(error) } });
  }

  async again(): Promise<void> {
    await this.open();
  }

  frame(): void {}

  close(): void {
    if (this.#shown) void unmount(this.#shown);
    this.#shown = null;
  }
}
