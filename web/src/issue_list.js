// The issues of a project: filtered, searched, page by page.

import { address, request } from "./api.ts";
import { h, redraw, replace } from "./dom.ts";
import { ago, words } from "./format.ts";
import { assignee, person, STATUSES, statusPill, UNFINISHED } from "./issue_words.js";
import { later } from "./later.ts";
import { to } from "./routes.ts";

const PAGE = 25;
const MOST = 100;

export class IssueList {
  #items = [];
  #cursor = null;
  #total = 0;
  #closed = false;

  constructor(page, route) {
    this.page = page;
    this.route = route;
    this.path = `/projects/${encodeURIComponent(route.project)}/issues`;
    this.count = h("p", { class: "quiet", role: "status" });
    this.list = h("div", { id: "issues" });
    this.reload = later(() => this.#load());
  }

  async open() {
    this.page.title("Issues");
    replace(this.page.root, this.#head(), this.count, this.list);
    await this.#load();
  }

  close() {
    this.#closed = true;
  }

  again() {
    this.reload();
  }

  frame({ type, payload }) {
    if (type === "issue.changed" && payload.project_id === this.route.project) this.reload();
  }

  #head() {
    const { project, status, search } = this.route;
    const field = h("input", { type: "search", name: "search", value: search, maxLength: 200, placeholder: "Search titles, texts and comments", "aria-label": "Search", data: { key: "issue-search" } });
    const options = [["", "Open"], ["all", "Every status"], ...STATUSES.map((name) => [name, words(name)])];
    const choice = h("select", { name: "status", "aria-label": "Status", data: { key: "issue-status" } }, options.map(([value, text]) => h("option", { value, selected: value === status }, text)));
    const go = () => (location.hash = to.issues(project, { status: choice.value, search: field.value.trim() }));
    choice.addEventListener("change", go);
    const form = h("form", { class: "row wrap issue-filter", role: "search", onsubmit: (event) => { event.preventDefault(); go(); } }, choice, field, h("button", { type: "submit" }, "Search"));
    return h("div", { class: "view-head" }, form, h("a", { class: "button primary", href: to.filing(project), data: { key: "new-issue" } }, "New issue"));
  }

  async #load() {
    const limit = Math.min(Math.max(this.#items.length, PAGE), MOST);
    const found = await this.#fetch({ limit });
    if (!found) return;
    this.#items = found.items;
    this.#took(found);
  }

  async #more() {
    const found = await this.#fetch({ limit: PAGE, cursor: this.#cursor });
    if (!found) return;
    const known = new Set(this.#items.map((issue) => issue.id));
    this.#items.push(...found.items.filter((issue) => !known.has(issue.id)));
    this.#took(found);
  }

  /** Return a page of the list, null when there is none or nobody looks any more. */
  async #fetch(parameters) {
    const { status, search } = this.route;
    try {
      const path = address(this.path, { search: search || null, ...parameters });
      const found = await request("GET", `${path}${statuses(status)}`);
      return this.#closed ? null : found;
    } catch (error) {
      if (!this.#closed) this.page.failed(error);
      return null;
    }
  }

  #took({ next_cursor: cursor, total }) {
    this.#cursor = cursor;
    this.#total = total;
    this.#draw();
  }

  #draw() {
    const filtered = this.route.status !== "all" || this.route.search;
    this.count.textContent = `${this.#total} issue${this.#total === 1 ? "" : "s"}`;
    const none = h("p", { class: "empty" }, filtered ? "No issue matches." : "This project has no issues yet.");
    const more = h("div", { class: "more" }, h("button", { type: "button", data: { key: "more" }, onclick: () => this.#more() }, "More"));
    redraw(this.list, this.#items.length ? h("ul", { class: "rows" }, this.#items.map((issue) => this.#row(issue))) : none, this.#cursor ? more : null);
  }

  #row(issue) {
    const facts = [
      `filed by ${person(issue.created_by)}`,
      issue.assignment ? `assigned to ${assignee(issue.assignment)}` : null,
      `updated ${ago(issue.updated_at)}`,
    ];
    return h(
      "li",
      {},
      h(
        "a",
        { href: to.issue(this.route.project, issue.number), data: { key: `issue-${issue.number}`, number: issue.number } },
        h("span", { class: "quiet" }, `#${issue.number}`),
        h("span", { class: "row-title" }, issue.title),
        statusPill(issue.status),
        h("span", { class: "row-facts quiet" }, facts.filter(Boolean).map((fact) => h("span", {}, fact))),
      ),
    );
  }
}

/** Return the part of the address that asks for a status; without one it is all that is not finished. */
function statuses(status) {
  if (status === "all") return "";
  return `&${status ? `status=${encodeURIComponent(status)}` : UNFINISHED}`;
}
