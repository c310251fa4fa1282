// The issues of a project: filtered, searched, page by page.

import type { Frame } from "../../../clients/typescript/src/stream.js";
import type { components } from "../../../clients/typescript/src/generated/events.ts";
import { address, request, type Schemas } from "../api.ts";
import { h, replace } from "../dom.ts";
import { ago, words } from "../format.ts";
import { later } from "../later.ts";
import type { Page, View } from "../page.ts";
import { redraw } from "../redraw.ts";
import { to, type Complete } from "../routes.ts";
import { assignee, person, STATUSES, statusPill, UNFINISHED } from "./words.ts";

type Found = Schemas["IssuePage"];
type Summary = Schemas["IssueSummary"];

const PAGE = 25;
const MOST = 100;

export class IssueList implements View {
  readonly #page: Page;
  readonly #route: Complete<"issues">;
  readonly #path: string;
  readonly #count: HTMLElement;
  readonly #list: HTMLElement;
  readonly #reload: () => void;
  #items: Summary[] = [];
  #cursor: string | null = null;
  #total = 0;
  #closed = false;
  /** Of several answers the newest counts. */
  #turn = 0;

  constructor(page: Page, route: Complete<"issues">) {
    this.#page = page;
    this.#route = route;
    this.#path = `/projects/${encodeURIComponent(route.project)}/issues`;
    this.#count = h("p", { class: "quiet", role: "status" });
    this.#list = h("div", { id: "issues" });
    this.#reload = later(() => this.#load());
  }

  async open(): Promise<void> {
    this.#page.title("Issues");
    replace(this.#page.root, this.#head(), this.#count, this.#list);
    await this.#load();
  }

  close(): void {
    this.#closed = true;
  }

  again(): void {
    this.#reload();
  }

  frame({ type, payload }: Frame): void {
    if (type === "issue.changed" && (payload as components["schemas"]["IssueChanged"]).project_id === this.#route.project) this.#reload();
  }

  #head(): HTMLElement {
    const { project, status, search } = this.#route;
    const field = h("input", { type: "search", name: "search", value: search, maxLength: 200, placeholder: "Search titles, texts and comments", "aria-label": "Search", data: { key: "issue-search" } });
    const options = [["", "Open"], ["all", "Every status"], ...STATUSES.map((name) => [name, words(name)])] as [string, string][];
    const choice = h("select", { name: "status", "aria-label": "Status", data: { key: "issue-status" } }, options.map(([value, text]) => h("option", { value, selected: value === status }, text)));
    const go = () => (location.hash = to.issues(project, { status: choice.value, search: field.value.trim() }));
    choice.addEventListener("change", go);
    const form = h("form", { class: "row wrap issue-filter", role: "search", onsubmit: (event) => { event.preventDefault(); go(); } }, choice, field, h("button", { type: "submit" }, "Search"));
    return h("div", { class: "view-head" }, form, h("a", { class: "button primary", href: to.filing(project), data: { key: "new-issue" } }, "New issue"));
  }

  async #load(): Promise<void> {
    this.#turn += 1;
    const turn = this.#turn;
    const limit = Math.min(Math.max(this.#items.length, PAGE), MOST);
    const found = await this.#fetch({ limit });
    if (!found || turn !== this.#turn) return;
    this.#items = found.items;
    this.#took(found);
  }

  async #more(): Promise<void> {
    const found = await this.#fetch({ limit: PAGE, cursor: this.#cursor });
    if (!found) return;
    const known = new Set(this.#items.map((issue) => issue.id));
    this.#items.push(...found.items.filter((issue) => !known.has(issue.id)));
    this.#took(found);
  }

  /** Return a page of the list, null when there is none or nobody looks any more. */
  async #fetch(parameters: { limit: number; cursor?: string | null }): Promise<Found | null> {
    const { status, search } = this.#route;
    try {
      const path = address(this.#path, { search: search || null, ...parameters });
      const found = await request<Found>("GET", `${path}${statuses(status)}`);
      return this.#closed ? null : found;
    } catch (error) {
      if (!this.#closed) this.#page.failed(error);
      return null;
    }
  }

  #took({ next_cursor: cursor, total }: Found): void {
    this.#cursor = cursor;
    this.#total = total;
    this.#draw();
  }

  #draw(): void {
    const filtered = this.#route.status !== "all" || this.#route.search;
    this.#count.textContent = `${this.#total} issue${this.#total === 1 ? "" : "s"}`;
    const none = h("p", { class: "empty" }, filtered ? "No issue matches." : "This project has no issues yet.");
    const more = h("div", { class: "more" }, h("button", { type: "button", data: { key: "more" }, onclick: () => this.#more() }, "More"));
    redraw(this.#list, this.#items.length ? h("ul", { class: "rows" }, this.#items.map((issue) => this.#row(issue))) : none, this.#cursor ? more : null);
  }

  #row(issue: Summary): HTMLElement {
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
        { href: to.issue(this.#route.project, issue.number), data: { key: `issue-${issue.number}`, number: String(issue.number) } },
        h("span", { class: "quiet" }, `#${issue.number}`),
        h("span", { class: "row-title" }, issue.title),
        statusPill(issue.status),
        h("span", { class: "row-facts quiet" }, facts.filter(Boolean).map((fact) => h("span", {}, fact))),
      ),
    );
  }
}

/** Return the part of the address that asks for a status; "" is all that is not finished. */
function statuses(status: string): string {
  if (status === "all") return "";
  return `&${status ? `status=${encodeURIComponent(status)}` : UNFINISHED}`;
}
