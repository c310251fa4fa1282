// One workflow: its description, the form that starts it, and its runs.

import { allItems, create } from "./api.ts";
import { actForm } from "./act.ts";
import { h, replace } from "./dom.ts";
import { Fields } from "./fields.js";
import { UNFINISHED } from "./issues/words.ts";
import { to } from "./routes.ts";
import { RunList } from "./workflow_runs.js";

const MOST_ISSUES = 200;

/** The types of inputs as the fields of a form. */
const FIELD_TYPES = { string: "text", text: "textarea" };

export class WorkflowPage {
  #fields = null;

  constructor(page, route) {
    this.page = page;
    this.route = route;
    this.path = `/projects/${encodeURIComponent(route.project)}/workflows`;
    this.runs = new RunList({ project: route.project, workflow: route.name, onError: (error) => page.failed(error) });
  }

  async open() {
    this.page.title(this.route.name);
    const issues = `/projects/${encodeURIComponent(this.route.project)}/issues?${UNFINISHED}`;
    const [items, open] = await Promise.all([allItems(this.path), allItems(issues, { limit: MOST_ISSUES })]);
    const workflow = items.find((one) => one.name === this.route.name);
    const back = h("p", { class: "issue-back" }, h("a", { href: to.workflows(this.route.project), class: "plain-link" }, "All workflows"));
    if (!workflow) {
      replace(this.page.root, back, h("p", { class: "empty" }, "The project no longer declares this workflow."), this.runs.root);
    } else {
      replace(this.page.root, back, h("div", { class: "view-head" }, h("h2", {}, workflow.name)), h("p", {}, workflow.description), this.#form(workflow, open), this.runs.root);
    }
    await this.runs.load();
  }

  close() {
    this.#fields?.close();
    this.runs.close();
  }

  again() {
    this.runs.reload();
  }

  frame(frame) {
    this.runs.frame(frame);
  }

  #form({ inputs }, issues) {
    const specs = Object.entries(inputs).map(([name, input]) => ({ ...input, name, label: name, type: FIELD_TYPES[input.type] ?? input.type }));
    const fields = new Fields(specs, { uploadPath: `/uploads?project_id=${encodeURIComponent(this.route.project)}` });
    this.#fields = fields;
    const issue = h("select", { name: "issue", id: "run-issue" }, h("option", { value: "" }, "none"), issues.map(({ number, title }) => h("option", { value: String(number) }, `#${number} ${title}`)));
    const about = h("div", { class: "field" }, h("label", { htmlFor: "run-issue" }, "Issue"), issue);
    const form = actForm({ class: "panel fields", noValidate: true, "aria-label": "Start the workflow", id: "start-workflow" }, () => this.#start(fields, Number(issue.value)), (error) => this.page.failed(error), fields.roots, issues.length ? about : null, h("div", { class: "row" }, h("button", { type: "submit", class: "primary" }, "Start")));
    return h("section", { "aria-label": "Start" }, form);
  }

  async #start(fields, issue) {
    const values = fields.read();
    if (!values) return;
    try {
      const run = await create(`${this.path}/${encodeURIComponent(this.route.name)}/invoke`, { inputs: values, ...(issue ? { issue_number: issue } : {}) });
      location.hash = to.run(run.id);
    } catch (error) {
      const rest = error.details?.fields ? fields.refuse(error.details.fields) : null;
      if (rest === null) throw error;
      if (rest.length) this.page.failed({ message: rest.join("; ") });
    }
  }
}
