// The form that files or edits an issue.

import { ApiError, create, type Schemas } from "../api.ts";
import { actForm } from "../act.ts";
import { h, replace } from "../dom.ts";
import type { Page, View } from "../page.ts";
import { to, type Complete } from "../routes.ts";
import { MarkdownView } from "../text/markdown_view.ts";

export interface Written {
  title: string;
  body: string;
}

/** A form whose first field is `title`; `values()` is what was written into it. */
interface IssueForm {
  root: HTMLFormElement;
  title: HTMLInputElement;
  values(): Written;
}

interface FormGiven extends Written {
  label: string;
  send: (values: Written) => Promise<unknown>;
  onError: (error: unknown) => void;
  onCancel?: () => void;
}

const DRAFTS = new Map<string, Written>();

export class IssueFiling implements View {
  readonly #page: Page;
  readonly #project: string;

  constructor(page: Page, route: Complete<"filing">) {
    this.#page = page;
    this.#project = route.project;
  }

  async open(): Promise<void> {
    this.#page.title("New issue");
    const draft = DRAFTS.get(this.#project) ?? { title: "", body: "" };
    const form = issueForm({ ...draft, label: "File it", onError: (error) => this.#page.failed(error), send: (values) => this.#file(values) });
    form.root.addEventListener("input", () => DRAFTS.set(this.#project, form.values()));
    replace(this.#page.root, h("section", { class: "panel" }, form.root));
    form.title.focus();
  }

  close(): void {}

  again(): void {}

  frame(): void {}

  async #file(values: Written): Promise<void> {
    const project = this.#project;
    const issue = await create<Schemas["IssueAnswer"]>(`/projects/${encodeURIComponent(project)}/issues`, values);
    DRAFTS.delete(project);
    // Going back leads to the list, not to a form that has been sent.
    location.replace(to.issue(project, issue.number));
  }
}

/** Return a form with title and Markdown body; `send({title, body})` is called with what was written, and
 * `onCancel`, where it is given, when nothing is to be changed. */
export function issueForm({ title, body, label, send, onError, onCancel }: FormGiven): IssueForm {
  const fields = {
    title: h("input", { id: "issue-title", name: "title", required: true, maxLength: 200, value: title, autocomplete: "off", "aria-describedby": "issue-title-error" }),
    body: h("textarea", { id: "issue-body", name: "body", rows: 12, value: body, "aria-describedby": "issue-body-error" }),
  };
  const errors = { title: problem("title"), body: problem("body") };
  const values = () => ({ title: fields.title.value, body: fields.body.value });
  const preview = h("div", { class: "markdown preview" });
  const details = h("details", { ontoggle: () => details.open && new MarkdownView(preview).show(fields.body.value) }, h("summary", {}, "Preview"), preview);
  const root = actForm(
    { class: "fields" },
    async () => {
      Object.values(errors).forEach((error) => (error.textContent = ""));
      try {
        await send(values());
      } catch (error) {
        if (!tellFields(error, errors, fields)) throw error;
      }
    },
    onError,
    h("div", { class: "field" }, h("label", { htmlFor: "issue-title" }, "Title"), fields.title, errors.title),
    h("div", { class: "field" }, h("label", { htmlFor: "issue-body" }, "Description (Markdown)"), fields.body, errors.body),
    details,
    h("div", { class: "row" }, h("button", { type: "submit", class: "primary" }, label), onCancel ? h("button", { type: "button", onclick: onCancel }, "Cancel") : null),
  );
  return { root, title: fields.title, values };
}

function problem(name: keyof Written): HTMLElement {
  return h("p", { class: "field-error", id: `issue-${name}-error`, "aria-live": "polite" });
}

/** Show the daemon's errors beside their fields; false when they belong to none. */
function tellFields(error: unknown, errors: Record<keyof Written, HTMLElement>, fields: Record<keyof Written, HTMLElement>): boolean {
  if (!(error instanceof ApiError)) return false;
  const refused: Schemas["ErrorAnswer"]["error"]["details"] = error.details;
  const found = Object.entries(refused?.fields ?? {}).filter((entry): entry is [keyof Written, string] => Object.hasOwn(errors, entry[0]));
  for (const [name, text] of found) errors[name].textContent = text;
  if (found[0]) fields[found[0][0]].focus();
  return found.length > 0;
}
