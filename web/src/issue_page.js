// One issue: text, checklist and history, with its actions beside them.

import { allItems, request } from "./api.ts";
import { Checklist } from "./checklist.js";
import { h, replace } from "./dom.ts";
import { IssueAssignment } from "./issue_assignment.js";
import { IssueAttachments } from "./issue_attachments.js";
import { IssueHistory } from "./issue_history.js";
import { IssueLinks } from "./issue_links.js";
import { IssueMoves } from "./issue_moves.js";
import { IssueSessions } from "./issue_sessions.js";
import { IssueText } from "./issue_text.js";
import { later } from "./later.ts";
import { to } from "./routes.ts";

const ABOUT_SESSIONS = new Set(["session.state", "session.updated"]);

export class IssuePage {
  #closed = false;

  constructor(page, route) {
    this.page = page;
    this.route = route;
    this.path = `/projects/${encodeURIComponent(route.project)}/issues/${route.number}`;
    this.reload = later(() => this.#load().catch((error) => this.#failed(error)));
    const about = { path: this.path, project: route.project, number: route.number, onError: (error) => this.#failed(error), onChanged: () => this.#load() };
    this.text = new IssueText(about);
    this.checklist = new Checklist(about);
    this.history = new IssueHistory(about);
    this.side = [new IssueMoves(about), new IssueAssignment(about), new IssueSessions(about), new IssueLinks(about), new IssueAttachments(about)];
  }

  async open() {
    this.page.title(`Issue #${this.route.number}`);
    await this.#load();
    if (this.#closed) return;
    const back = h("a", { href: to.issues(this.route.project), class: "plain-link" }, "All issues");
    const columns = h("div", { class: "issue" }, h("div", { class: "issue-main" }, this.text.root, this.checklist.root, this.history.root), h("div", { class: "issue-side" }, this.side.map((part) => part.root)));
    replace(this.page.root, h("p", { class: "issue-back" }, back), columns);
  }

  close() {
    this.#closed = true;
    for (const part of this.side) part.close?.();
  }

  again() {
    this.reload();
  }

  frame({ type, payload }) {
    const mine = (type === "issue.changed" || type.startsWith("todo.")) && payload.number === this.route.number && [undefined, this.route.project].includes(payload.project_id);
    const working = ABOUT_SESSIONS.has(type) || type.startsWith("workflow.");
    if (mine || working) this.reload();
  }

  async #load() {
    const sessions = `/sessions?project_id=${encodeURIComponent(this.route.project)}&issue_number=${this.route.number}`;
    const [issue, { items: todos }, bound] = await Promise.all([request("GET", this.path), request("GET", `${this.path}/todos`), allItems(sessions, { limit: 20 })]);
    if (this.#closed) return;
    this.page.title(`#${issue.number} ${issue.title}`);
    this.checklist.show(todos, issue);
    for (const part of [this.text, this.history, ...this.side]) part.show(issue, bound);
  }

  #failed(error) {
    if (!this.#closed) this.page.failed(error);
  }
}
