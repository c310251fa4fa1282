// One workflow: its description, the form that starts it, and its runs.

import type { Frame } from "../../../clients/typescript/src/stream.js";
import { allItems, ApiError, create, type Schemas } from "../api.ts";
import { actForm } from "../act.ts";
import { h, replace } from "../dom.ts";
import { Fields } from "../fields.ts";
import { UNFINISHED } from "../issues/words.ts";
import type { Page, View } from "../page.ts";
import { to, type Complete } from "../routes.ts";
import { RunList } from "./run_list.ts";
import type { Run, Workflow } from "./types.ts";

type Input = Workflow["inputs"][string];
type Issue = Schemas["IssueSummary"];

const MOST_ISSUES = 200;

export class WorkflowPage implements View {
  readonly #page: Page;
  readonly #route: Complete<"workflow">;
  readonly #path: string;
  readonly #runs: RunList;
  #fields: Fields | null = null;

  constructor(page: Page, route: Complete<"workflow">) {
    this.#page = page;
    this.#route = route;
    this.#path = `/projects/${encodeURIComponent(route.project)}/workflows`;
    this.#runs = new RunList({ project: route.project, workflow: route.name, onError: (error) => page.failed(error) });
  }

  async open(): Promise<void> {
    const { project, name } = this.#route;
    this.#page.title(name);
    const issues = `/projects/${encodeURIComponent(project)}/issues?${UNFINISHED}`;
    const [items, open] = await Promise.all([allItems<Workflow>(this.#path), allItems<Issue>(issues, { limit: MOST_ISSUES })]);
    const workflow = items.find((one) => one.name === name);
    const back = h("p", { class: "issue-back" }, h("a", { href: to.workflows(project), class: "plain-link" }, "All workflows"));
    if (!workflow) {
      replace(this.#page.root, back, h("p", { class: "empty" }, "The project no longer declares this workflow."), this.#runs.root);
    } else {
      replace(this.#page.root, back, h("div", { class: "view-head" }, h("h2", {}, workflow.name)), h("p", {}, workflow.description), this.#form(workflow, open), this.#runs.root);
    }
    await this.#runs.load();
  }

  close(): void {
    this.#fields?.close();
    this.#runs.close();
  }

  again(): void {
    this.#runs.reload();
  }

  frame(frame: Frame): void {
    this.#runs.frame(frame);
  }

  #form({ inputs }: Workflow, issues: Issue[]): HTMLElement {
    const specs = Object.entries(inputs).map(([name, input]) => ({ ...input, name, label: name, type: fieldType(input.type) }));
    const fields = new Fields(specs, { uploadPath: `/uploads?project_id=${encodeURIComponent(this.#route.project)}` });
    this.#fields = fields;
    const issue = h("select", { name: "issue", id: "run-issue" }, h("option", { value: "" }, "none"), issues.map(({ number, title }) => h("option", { value: String(number) }, `#${number} ${title}`)));
    const about = h("div", { class: "field" }, h("label", { htmlFor: "run-issue" }, "Issue"), issue);
    const form = actForm({ class: "panel fields", noValidate: true, "aria-label": "Start the workflow", id: "start-workflow" }, () => this.#start(fields, Number(issue.value)), (error) => this.#page.failed(error), fields.roots, issues.length ? about : null, h("div", { class: "row" }, h("button", { type: "submit", class: "primary" }, "Start")));
    return h("section", { "aria-label": "Start" }, form);
  }

  /** `issue` is 0 for none. */
  async #start(fields: Fields, issue: number): Promise<void> {
    const values = fields.read();
    if (!values) return;
    const given: Schemas["InvokeWorkflow"] = { inputs: values, ...(issue ? { issue_number: issue } : {}) };
    try {
      const run = await create<Run>(`${this.#path}/${encodeURIComponent(this.#route.name)}/invoke`, given);
      location.hash = to.run(run.id);
    } catch (error) {
      const refused: Schemas["ErrorAnswer"]["error"]["details"] = error instanceof ApiError ? error.details : {};
      if (!refused?.fields) throw error;
      const rest = fields.refuse(refused.fields);
      if (rest.length) this.#page.failed({ message: rest.join("; ") });
    }
  }
}

/** Return the type of an input as that of a field of a form. */
function fieldType(type: Input["type"]): "text" | "textarea" | Exclude<Input["type"], "string" | "text"> {
  if (type === "string") return "text";
  return type === "text" ? "textarea" : type;
}
