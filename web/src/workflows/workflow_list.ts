// The workflows of a project, as its file declares them, and their newest runs.

import type { Frame } from "../../../clients/typescript/src/stream.js";
import { allItems } from "../api.ts";
import { h, replace } from "../dom.ts";
import { moment } from "../format.ts";
import type { Page, View } from "../page.ts";
import { to, type Complete } from "../routes.ts";
import { RunList } from "./run_list.ts";
import type { Workflow } from "./types.ts";

export class WorkflowList implements View {
  readonly #page: Page;
  readonly #project: string;
  readonly #runs: RunList;

  constructor(page: Page, route: Complete<"workflows">) {
    this.#page = page;
    this.#project = route.project;
    this.#runs = new RunList({ project: route.project, onError: (error) => page.failed(error) });
  }

  async open(): Promise<void> {
    this.#page.title("Workflows");
    const items = await allItems<Workflow>(`/projects/${encodeURIComponent(this.#project)}/workflows`);
    const none = h("p", { class: "empty" }, "This project declares no workflows. Declare them in .kaged/project.yaml, under workflows.");
    const list = h("ul", { class: "rows", id: "workflows" }, items.map((workflow) => this.#row(workflow)));
    replace(this.#page.root, h("h2", { class: "visually-hidden" }, "Declared"), items.length ? list : none, this.#runs.root);
    await this.#runs.load();
  }

  close(): void {
    this.#runs.close();
  }

  again(): void {
    this.#runs.reload();
  }

  frame(frame: Frame): void {
    this.#runs.frame(frame);
  }

  #row(workflow: Workflow): HTMLElement {
    const count = Object.keys(workflow.inputs).length;
    const facts = [count ? `${count} input${count === 1 ? "" : "s"}` : "no inputs", workflow.running ? `${workflow.running} running` : null, workflow.queued ? `${workflow.queued} waiting` : null, workflow.next_at ? `next scheduled run: ${moment(workflow.next_at)}` : null];
    return h(
      "li",
      {},
      h(
        "a",
        { href: to.workflow(this.#project, workflow.name), data: { key: `workflow-${workflow.name}`, workflow: workflow.name } },
        h("span", { class: "row-title" }, workflow.name),
        h("span", { class: "row-facts" }, workflow.description),
        h("span", { class: "row-facts quiet" }, facts.filter(Boolean).map((fact) => h("span", {}, fact))),
      ),
    );
  }
}
