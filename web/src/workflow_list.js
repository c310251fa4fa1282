// The workflows of a project, as its file declares them, and their newest runs.

import { allItems } from "./api.ts";
import { h, replace } from "./dom.ts";
import { moment } from "./format.ts";
import { to } from "./routes.ts";
import { RunList } from "./workflow_runs.js";

export class WorkflowList {
  constructor(page, route) {
    this.page = page;
    this.route = route;
    this.runs = new RunList({ project: route.project, onError: (error) => page.failed(error) });
  }

  async open() {
    this.page.title("Workflows");
    const items = await allItems(`/projects/${encodeURIComponent(this.route.project)}/workflows`);
    const none = h("p", { class: "empty" }, "This project declares no workflows. Declare them in .kaged/project.yaml, under workflows.");
    const list = h("ul", { class: "rows", id: "workflows" }, items.map((workflow) => this.#row(workflow)));
    replace(this.page.root, h("h2", { class: "visually-hidden" }, "Declared"), items.length ? list : none, this.runs.root);
    await this.runs.load();
  }

  close() {
    this.runs.close();
  }

  again() {
    this.runs.reload();
  }

  frame(frame) {
    this.runs.frame(frame);
  }

  #row(workflow) {
    const count = Object.keys(workflow.inputs).length;
    const facts = [count ? `${count} input${count === 1 ? "" : "s"}` : "no inputs", workflow.running ? `${workflow.running} running` : null, workflow.queued ? `${workflow.queued} waiting` : null, workflow.next_at ? `next scheduled run: ${moment(workflow.next_at)}` : null];
    return h(
      "li",
      {},
      h(
        "a",
        { href: to.workflow(this.route.project, workflow.name), data: { key: `workflow-${workflow.name}`, workflow: workflow.name } },
        h("span", { class: "row-title" }, workflow.name),
        h("span", { class: "row-facts" }, workflow.description),
        h("span", { class: "row-facts quiet" }, facts.filter(Boolean).map((fact) => h("span", {}, fact))),
      ),
    );
  }
}
