// The issue of a session, beside its conversation: bind it, show its checklist, unbind it.

import { allItems, request, type Schemas } from "../api.ts";
import { actButton, actForm } from "../act.ts";
import { h } from "../dom.ts";
import { redraw } from "../redraw.ts";
import { Proposals } from "./proposals.ts";
import { to } from "../routes.ts";
import type { OpenSession } from "../workspace/types.ts";
import { Checklist } from "./checklist.ts";
import type { Issue, Todo } from "./types.ts";
import { statusPill, UNFINISHED } from "./words.ts";

const MOST = 200;

export class BoundIssue {
  readonly root: HTMLElement;
  readonly #session: OpenSession;
  readonly #onError: (error: unknown) => void;
  readonly #head: HTMLElement;
  readonly #proposals: Proposals;
  #checklist: Checklist | null = null;
  /** The number of the issue that is shown, 0 for the offer of one. */
  #number: number | null = null;

  constructor(session: OpenSession, onError: (error: unknown) => void) {
    this.#session = session;
    this.#onError = onError;
    this.root = h("div", { class: "bound-issue" });
    this.#head = h("div", {});
    this.#proposals = new Proposals({ path: session.path, onError, onChanged: () => this.load() });
  }

  /** Read it again and return the element that shows it. */
  async load(): Promise<HTMLElement> {
    if (!this.#session.detail) return this.root;
    const { project_id: project, issue_number: number } = this.#session.detail;
    if (!number) {
      if (this.#number !== 0) await this.#offer(project);
    } else {
      await this.#show(project, number);
    }
    this.#number = number ?? 0;
    return this.root;
  }

  async #show(project: string, number: number): Promise<void> {
    const path = `/projects/${encodeURIComponent(project)}/issues/${number}`;
    const [issue, { items: todos }] = await Promise.all([request<Issue>("GET", path), request<{ items: Todo[] }>("GET", `${path}/todos`)]);
    if (this.#number !== number || !this.#checklist) {
      this.#checklist = new Checklist({ path, onError: this.#onError, onChanged: () => this.load() });
      redraw(this.root, this.#head, this.#checklist.root, this.#proposals.root, actButton("Unbind", () => this.#bind(null), { onError: this.#onError, class: "small", id: "unbind" }));
    }
    redraw(this.#head, h("p", {}, h("a", { href: to.issue(project, number), data: { key: "bound-issue" } }, `#${number} ${issue.title}`), " ", statusPill(issue.status)));
    this.#checklist.show(todos, issue);
    await this.#proposals.refresh();
  }

  async #offer(project: string): Promise<void> {
    const issues = await allItems<Schemas["IssueSummary"]>(`/projects/${encodeURIComponent(project)}/issues?${UNFINISHED}`, { limit: MOST });
    const choice = h("select", { id: "bind-number", "aria-label": "Issue", data: { key: "bind-number" } }, issues.map((issue) => h("option", { value: String(issue.number) }, `#${issue.number} ${issue.title}`)));
    const form = actForm({ class: "row wrap" }, () => this.#bind(Number(choice.value)), this.#onError, choice, h("button", { type: "submit", class: "small", id: "bind", data: { key: "bind" } }, "Bind"));
    const hint = h("p", { class: "quiet" }, "This session has no issue. Bind one to let the agent keep its checklist.");
    redraw(this.root, hint, issues.length ? form : h("p", {}, h("a", { href: to.filing(project), data: { key: "file-issue" } }, "File an issue"), " first."));
  }

  async #bind(number: number | null): Promise<void> {
    await request("PATCH", this.#session.path, { issue_number: number });
    await this.#session.refresh();
    await this.load();
  }
}
