// Who works on an issue: the primary agent, a workflow of the project, or a session. Assigning starts the work.

import { address, allItems, request, type Page, type Schemas } from "../api.ts";
import { actForm } from "../act.ts";
import { h } from "../dom.ts";
import { redraw } from "../redraw.ts";
import { to } from "../routes.ts";
import type { Issue, PartGiven } from "./types.ts";
import { assigned, assignee } from "./words.ts";

const SESSIONS = 30;

export class IssueAssignment {
  readonly root: HTMLElement;
  readonly #given: PartGiven;
  readonly #now: HTMLElement;
  readonly #choice: HTMLSelectElement;
  /** Whether the choice offers what there is, or is about to. */
  #read = false;

  constructor(given: PartGiven) {
    this.#given = given;
    this.#now = h("p", {});
    this.#choice = h("select", { id: "assignee", name: "target", "aria-label": "Assign to" });
    const form = actForm({ class: "row" }, () => this.#assign(), given.onError, this.#choice, h("button", { type: "submit", class: "small", id: "assign" }, "Assign"));
    this.root = h("section", { "aria-label": "Assignment" }, h("h3", {}, "Assigned to"), this.#now, form);
  }

  show({ assignment }: Issue): void {
    redraw(this.#now, this.#link(assignment));
    if (!this.#read) this.#readTargets(assignment).catch(this.#given.onError);
  }

  #link(assignment: string | null): HTMLElement | string {
    const [kind, name] = assigned(assignment ?? "");
    if (kind === "session") return h("a", { href: to.session(name), data: { key: "assigned" } }, "a session");
    if (kind === "workflow") return h("a", { href: to.workflow(this.#given.project, name), data: { key: "assigned" } }, `the workflow ${name}`);
    return assignee(assignment);
  }

  async #readTargets(assignment: string | null): Promise<void> {
    this.#read = true;
    const { project, number } = this.#given;
    const [workflows, sessions] = await Promise.all([
      allItems<Schemas["WorkflowAnswer"]>(`/projects/${encodeURIComponent(project)}/workflows`),
      request<Page<Schemas["ListedSession"]>>("GET", address("/sessions", { project_id: project, kind: "chat", limit: SESSIONS })),
    ]);
    const live = sessions.items.filter((session) => session.state !== "archived" && [null, number].includes(session.issue_number));
    const option = (value: string, text: string) => h("option", { value, selected: value === (assignment ?? "") }, text);
    const group = (label: string, options: HTMLElement[]) => (options.length ? h("optgroup", { label }, options) : null);
    redraw(
      this.#choice,
      option("", "nobody"),
      option("primary", "the primary agent"),
      group("Workflows", workflows.map((workflow) => option(`workflow:${workflow.name}`, workflow.name))),
      group("Sessions", live.map((session) => option(`session:${session.id}`, session.title || "New session"))),
    );
  }

  async #assign(): Promise<void> {
    await request("PATCH", this.#given.path, { assignment: this.#choice.value || null } satisfies Schemas["EditIssue"]);
    this.#read = false;
    await this.#given.onChanged();
  }
}
