// The history of an issue, oldest first, and the comment field.

import { create, type Schemas } from "../api.ts";
import { actForm } from "../act.ts";
import { h, type Child } from "../dom.ts";
import { moment, words } from "../format.ts";
import { redraw } from "../redraw.ts";
import { MarkdownView } from "../text/markdown_view.ts";
import type { Issue, PartGiven } from "./types.ts";
import { assignee, person } from "./words.ts";

type Update = Schemas["IssueUpdateAnswer"];

export class IssueHistory {
  readonly root: HTMLElement;
  readonly #given: PartGiven;
  readonly #list: HTMLElement;
  readonly #text: HTMLTextAreaElement;
  readonly #internal: HTMLInputElement;

  constructor(given: PartGiven) {
    this.#given = given;
    this.#list = h("ol", { class: "history-list", id: "history" });
    this.#text = h("textarea", { name: "body", rows: 3, required: true, "aria-label": "Comment", placeholder: "A comment, in Markdown" });
    this.#internal = h("input", { type: "checkbox", name: "internal" });
    const internal = h("label", { class: "row" }, this.#internal, "Operators only");
    const form = actForm({ class: "fields", id: "comment-form" }, (sent) => this.#comment(sent), given.onError, this.#text, h("div", { class: "row wrap" }, h("button", { type: "submit" }, "Comment"), internal));
    this.root = h("section", { "aria-label": "History" }, h("h3", {}, "History"), this.#list, form);
  }

  show(issue: Issue): void {
    redraw(this.#list, issue.updates.map(entry));
  }

  async #comment(form: HTMLFormElement): Promise<void> {
    const comment: Schemas["CommentOnIssue"] = { body: this.#text.value, visibility: this.#internal.checked ? "operator_only" : "all" };
    await create(`${this.#given.path}/comments`, comment);
    form.reset();
    await this.#given.onChanged();
  }
}

function entry(update: Update): HTMLElement {
  const internal = update.visibility === "operator_only";
  return h(
    "li",
    { class: update.kind === "comment" ? "said" : "", data: { key: `update-${update.id}`, kind: update.kind, visibility: update.visibility } },
    h("p", { class: "quiet" }, `${person(update.author)} ${summary(update)} · ${moment(update.created_at)}`, internal ? h("span", { class: "badge" }, "for operators only") : null),
    update.kind === "comment" ? comment(update.body) : changed(update),
  );
}

function comment(body: string | null): HTMLElement {
  const text = h("div", { class: "markdown" });
  new MarkdownView(text).show(body ?? "");
  return text;
}

/** Return the value before or after a change: `metadata` has `old_status`, `new_title` and so on. */
function value({ metadata }: Update, which: "old" | "new"): string | null {
  const found = Object.entries(metadata ?? {}).find(([name]) => name.startsWith(`${which}_`))?.[1];
  return typeof found === "string" ? found : null;
}

function summary(update: Update): string {
  switch (update.kind) {
    case "comment":
      return "said";
    case "status_change":
      return `changed the status from ${words(value(update, "old"))} to ${words(value(update, "new"))}`;
    case "assignment_change":
      if (!value(update, "new")) return `unassigned ${assignee(value(update, "old"))}`;
      if (!value(update, "old")) return `assigned it to ${assignee(value(update, "new"))}`;
      return `changed the assignment from ${assignee(value(update, "old"))} to ${assignee(value(update, "new"))}`;
    case "title_edit":
      return "changed the title";
    case "body_edit":
      return "changed the text";
    default:
      return words(update.kind);
  }
}

function changed(update: Update): HTMLElement | null {
  const [old, made] = [value(update, "old"), value(update, "new")];
  if (update.kind === "title_edit") return h("p", {}, h("del", {}, old ?? ""), " → ", h("ins", {}, made ?? ""));
  if (update.kind !== "body_edit") return null;
  const text = (name: string, content: string | null): Child => [h("h4", {}, name), h("pre", { tabIndex: 0 }, content ?? "")];
  return h("details", { data: { key: update.id } }, h("summary", { class: "quiet" }, "Before and after"), text("Before", old), text("After", made));
}
