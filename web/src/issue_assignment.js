// Who works on an issue: the primary agent, a workflow of the project, or a session. Assigning starts the work.

import { address, allItems, request } from "./api.ts";
import { actForm } from "./act.ts";
import { h, redraw } from "./dom.ts";
import { assignee } from "./issue_words.js";
import { to } from "./routes.ts";

const SESSIONS = 30;

export class IssueAssignment {
  #targets = null;

  constructor({ path, project, number, onError, onChanged }) {
    this.path = path;
    this.project = project;
    this.number = number;
    this.onError = onError;
    this.onChanged = onChanged;
    this.now = h("p", {});
    this.choice = h("select", { id: "assignee", name: "target", "aria-label": "Assign to" });
    const form = actForm({ class: "row" }, () => this.#assign(), onError, this.choice, h("button", { type: "submit", class: "small", id: "assign" }, "Assign"));
    this.root = h("section", { "aria-label": "Assignment" }, h("h3", {}, "Assigned to"), this.now, form);
  }

  show(issue) {
    const [kind, name] = (issue.assignment ?? "").split(/:(.*)/s, 2);
    const link = kind === "session" ? h("a", { href: to.session(name) }, "a session") : kind === "workflow" ? h("a", { href: to.workflow(this.project, name) }, `the workflow ${name}`) : assignee(issue.assignment);
    redraw(this.now, link);
    if (this.#targets === null) this.#read(issue.assignment).catch(this.onError);
  }

  async #read(assignment) {
    this.#targets = [];
    const project = encodeURIComponent(this.project);
    const [workflows, sessions] = await Promise.all([
      allItems(`/projects/${project}/workflows`),
      request("GET", address("/sessions", { project_id: this.project, kind: "chat", limit: SESSIONS })),
    ]);
    const live = sessions.items.filter((session) => session.state !== "archived" && [null, this.number].includes(session.issue_number));
    const option = (value, text) => h("option", { value, selected: value === (assignment ?? "") }, text);
    const group = (label, options) => (options.length ? h("optgroup", { label }, options) : null);
    redraw(
      this.choice,
      option("", "nobody"),
      option("primary", "the primary agent"),
      group("Workflows", workflows.map((workflow) => option(`workflow:${workflow.name}`, workflow.name))),
      group("Sessions", live.map((session) => option(`session:${session.id}`, session.title || "New session"))),
    );
  }

  async #assign() {
    await request("PATCH", this.path, { assignment: this.choice.value || null });
    this.#targets = null;
    await this.onChanged();
  }
}
