// Title, status, author and text of an issue, and the form to edit them.

import { request } from "./api.ts";
import { h, replace } from "./dom.ts";
import { moment } from "./format.ts";
import { issueForm } from "./issue_filing.js";
import { person, statusPill } from "./issue_words.js";
import { MarkdownView } from "./text/markdown_view.ts";

export class IssueText {
  #editing = false;
  #shown = null;
  #issue = null;

  constructor({ path, onError, onChanged }) {
    this.path = path;
    this.onError = onError;
    this.onChanged = onChanged;
    this.head = h("div", {});
    this.body = h("div", {});
    this.root = h("section", { class: "issue-text", "aria-label": "The issue" }, this.head, this.body);
  }

  show(issue) {
    this.#issue = issue;
    replace(this.head, h("div", { class: "view-head" }, h("h2", {}, issue.title, " ", h("span", { class: "quiet" }, `#${issue.number}`)), statusPill(issue.status)), about(issue));
    if (!this.#editing) this.#draw();
  }

  #draw() {
    const issue = this.#issue;
    if (this.#shown === issue.body && !this.#editing && this.body.firstChild) return;
    this.#shown = issue.body;
    const text = h("div", { class: "markdown issue-body" });
    new MarkdownView(text).show(issue.body);
    this.button = h("button", { type: "button", class: "small", onclick: () => this.#edit() }, "Edit");
    replace(this.body, issue.body.trim() ? text : h("p", { class: "quiet" }, "No description."), before(issue), this.button);
  }

  #edit() {
    const { title, body } = this.#issue;
    this.#editing = true;
    const form = issueForm({
      title,
      body,
      label: "Save",
      onError: this.onError,
      onCancel: () => this.#done(),
      send: async (values) => {
        const changed = Object.fromEntries(Object.entries(values).filter(([name, value]) => value !== { title, body }[name]));
        if (Object.keys(changed).length) await request("PATCH", this.path, changed);
        this.#done();
        await this.onChanged();
      },
    });
    replace(this.body, form);
    form.elements.title.focus();
  }

  #done() {
    this.#editing = false;
    this.#shown = null;
    this.#draw();
    this.button.focus();
  }
}

function about(issue) {
  const closed = issue.resolved_at ? ` Resolved by ${person(issue.resolved_by)}, ${moment(issue.resolved_at)}.` : "";
  return h("p", { class: "quiet" }, `Filed by ${person(issue.created_by)}, ${moment(issue.created_at)}.${closed}`);
}

function before(issue) {
  if (issue.original_body === null || issue.original_body === undefined || issue.original_body === issue.body) return null;
  const text = h("div", { class: "markdown issue-body" });
  new MarkdownView(text).show(issue.original_body);
  return h("details", { class: "issue-original" }, h("summary", { class: "quiet" }, "Original text"), text);
}
