// One issue: text, checklist and history, with its actions beside them.

import type { Frame } from "../../../clients/typescript/src/stream.js";
import type { components } from "../../../clients/typescript/src/generated/events.ts";
import { allItems, request, type Schemas } from "../api.ts";
import { h, replace } from "../dom.ts";
import { later } from "../later.ts";
import type { Page, View } from "../page.ts";
import { to, type Complete } from "../routes.ts";
import { IssueAssignment } from "./assignment.ts";
import { IssueAttachments } from "./attachments.ts";
import { Checklist } from "./checklist.ts";
import { IssueHistory } from "./history.ts";
import { IssueLinks } from "./links.ts";
import { IssueMoves } from "./moves.ts";
import { IssueSessions } from "./sessions.ts";
import { IssueText } from "./text.ts";
import type { Issue, PartGiven, Todo } from "./types.ts";

type Session = Schemas["ListedSession"];
/** What a frame may say of an issue, or of a checklist. */
type About = Partial<Pick<components["schemas"]["IssueChanged"], "number" | "project_id">>;

interface Part {
  readonly root: HTMLElement;
  show(issue: Issue, bound: Session[]): void;
  close?(): void;
}

const ABOUT_SESSIONS = new Set(["session.state", "session.updated"]);

export class IssuePage implements View {
  readonly #page: Page;
  readonly #route: Complete<"issue">;
  readonly #path: string;
  readonly #reload: () => void;
  readonly #text: Part;
  readonly #checklist: Checklist;
  readonly #history: Part;
  readonly #side: Part[];
  #closed = false;
  /** Of several answers the newest counts. */
  #turn = 0;

  constructor(page: Page, route: Complete<"issue">) {
    this.#page = page;
    this.#route = route;
    this.#path = `/projects/${encodeURIComponent(route.project)}/issues/${route.number}`;
    this.#reload = later(() => this.#load().catch((error) => this.#failed(error)));
    const given: PartGiven = { path: this.#path, project: route.project, number: route.number, onError: (error) => this.#failed(error), onChanged: () => this.#load() };
    this.#text = new IssueText(given);
    this.#checklist = new Checklist(given);
    this.#history = new IssueHistory(given);
    this.#side = [new IssueMoves(given), new IssueAssignment(given), new IssueSessions(given), new IssueLinks(given), new IssueAttachments(given)];
  }

  async open(): Promise<void> {
    this.#page.title(`Issue #${this.#route.number}`);
    await this.#load();
    if (this.#closed) return;
    const back = h("a", { href: to.issues(this.#route.project), class: "plain-link" }, "All issues");
    const columns = h("div", { class: "issue" }, h("div", { class: "issue-main" }, this.#text.root, this.#checklist.root, this.#history.root), h("div", { class: "issue-side" }, this.#side.map((part) => part.root)));
    replace(this.#page.root, h("p", { class: "issue-back" }, back), columns);
  }

  close(): void {
    this.#closed = true;
    for (const part of this.#side) part.close?.();
  }

  again(): void {
    this.#reload();
  }

  frame({ type, payload }: Frame): void {
    const { number, project_id: project } = payload as About;
    const mine = (type === "issue.changed" || type.startsWith("todo.")) && number === this.#route.number && [undefined, this.#route.project].includes(project);
    const working = ABOUT_SESSIONS.has(type) || type.startsWith("workflow.");
    if (mine || working) this.#reload();
  }

  async #load(): Promise<void> {
    this.#turn += 1;
    const turn = this.#turn;
    const sessions = `/sessions?project_id=${encodeURIComponent(this.#route.project)}&issue_number=${this.#route.number}`;
    const [issue, { items: todos }, bound] = await Promise.all([request<Issue>("GET", this.#path), request<{ items: Todo[] }>("GET", `${this.#path}/todos`), allItems<Session>(sessions, { limit: 20 })]);
    if (this.#closed || turn !== this.#turn) return;
    this.#page.title(`#${issue.number} ${issue.title}`);
    this.#checklist.show(todos, issue);
    for (const part of [this.#text, this.#history, ...this.#side]) part.show(issue, bound);
  }

  #failed(error: unknown): void {
    if (!this.#closed) this.#page.failed(error);
  }
}
