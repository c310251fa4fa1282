// The trust question of a project: what it asks for, what changed, and the decision.

import { mount, unmount } from "svelte";
import type { components } from "../../../clients/typescript/src/generated/routes.ts";
import { request, type Method } from "../api.ts";
import { replace } from "../dom.ts";
import type { Page } from "../page.ts";
import Trust from "./Trust.svelte";

type Project = components["schemas"]["ProjectDetail"];

export class TrustPage {
  #page: Page;
  #path: string;
  #shown: ReturnType<typeof mount> | null = null;

  constructor(page: Page, route: { project: string }) {
    this.#page = page;
    this.#path = `/projects/${encodeURIComponent(route.project)}`;
  }

  async open(): Promise<void> {
    this.#draw(await request("GET", this.#path));
  }

  async again(): Promise<void> {
    try {
      await this.open();
    } catch (error) {
      this.#page.failed(error);
    }
  }

  frame(): void {}

  close(): void {
    if (this.#shown) void unmount(this.#shown);
    this.#shown = null;
  }

  #draw(project: Project): void {
    this.#page.title(project.slug);
    this.close();
    replace(this.#page.root);
    this.#shown = mount(Trust, {
      target: this.#page.root,
      props: {
        project,
        onTrust: (always: boolean) => this.#decide("POST", { digest: project.trust.digest, always }),
        onRevoke: () => this.#decide("DELETE"),
      },
    });
  }

  async #decide(method: Method, body?: object): Promise<void> {
    try {
      this.#draw(await request(method, `${this.#path}/trust`, body));
    } catch (error) {
      this.#page.failed(error);
      // Another version has come to be: it is shown, and asked about anew.
      if ((error as { status?: number }).status === 409) await this.again();
    }
    await this.#page.sidebar.refresh();
  }
}
