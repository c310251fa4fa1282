// Title, status, author and text of an issue, and the form to edit them.

import { request, type Schemas } from "../api.ts";
import { h, replace } from "../dom.ts";
import { moment } from "../format.ts";
import { MarkdownView } from "../text/markdown_view.ts";
import { issueForm } from "./filing.ts";
import type { Issue, PartGiven } from "./types.ts";
import { person, statusPill } from "./words.ts";

export class IssueText {
  readonly root: HTMLElement;
  readonly #given: PartGiven;
  readonly #head: HTMLElement;
  readonly #body: HTMLElement;
  readonly #button: HTMLButtonElement;
  #editing = false;
  #shown: string | null = null;
  #issue: Issue | null = null;

  constructor(given: PartGiven) {
    this.#given = given;
    this.#head = h("div", {});
    this.#body = h("div", {});
    this.#button = h("button", { type: "button", class: "small", onclick: () => this.#edit() }, "Edit");
    this.root = h("section", { class: "issue-text", "aria-label": "The issue" }, this.#head, this.#body);
  }

  show(issue: Issue): void {
    this.#issue = issue;
    replace(this.#head, h("div", { class: "view-head" }, h("h2", {}, issue.title, " ", h("span", { class: "quiet" }, `#${issue.number}`)), statusPill(issue.status)), about(issue));
    if (!this.#editing) this.#draw(issue);
  }

  #draw(issue: Issue): void {
    if (this.#shown === issue.body && !this.#editing && this.#body.firstChild) return;
    this.#shown = issue.body;
    const text = h("div", { class: "markdown issue-body" });
    new MarkdownView(text).show(issue.body);
    replace(this.#body, issue.body.trim() ? text : h("p", { class: "quiet" }, "No description."), before(issue), this.#button);
  }

  #edit(): void {
    if (!this.#issue) return;
    const { title, body } = this.#issue;
    this.#editing = true;
    const form = issueForm({
      title,
      body,
      label: "Save",
      onError: this.#given.onError,
      onCancel: () => this.#done(),
      send: async (values) => {
        const changed: Schemas["EditIssue"] = {};
        if (values.title !== title) changed.title = values.title;
        if (values.body !== body) changed.body = values.body;
        if (Object.keys(changed).length) await request("PATCH", this.#given.path, changed);
        this.#done();
        await this.#given.onChanged();
      },
    });
    replace(this.#body, form.root);
    form.title.focus();
  }

  #done(): void {
    this.#editing = false;
    this.#shown = null;
    if (this.#issue) this.#draw(this.#issue);
    this.#button.focus();
  }
}

function about(issue: Issue): HTMLElement {
  const closed = issue.resolved_at ? ` Resolved by ${person(issue.resolved_by)}, ${moment(issue.resolved_at)}.` : "";
  return h("p", { class: "quiet" }, `Filed by ${person(issue.created_by)}, ${moment(issue.created_at)}.${closed}`);
}

function before(issue: Issue): HTMLElement | null {
  if (issue.original_body === null || issue.original_body === undefined || issue.original_body === issue.body) return null;
  const text = h("div", { class: "markdown issue-body" });
  new MarkdownView(text).show(issue.original_body);
  return h("details", { class: "issue-original" }, h("summary", { class: "quiet" }, "Original text"), text);
}
