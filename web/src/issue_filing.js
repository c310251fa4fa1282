// The form that files or edits an issue.

import { create } from "./api.ts";
import { actForm } from "./act.ts";
import { h, replace } from "./dom.ts";
import { MarkdownView } from "./text/markdown_view.ts";
import { to } from "./routes.ts";

const DRAFTS = new Map();

export class IssueFiling {
  constructor(page, route) {
    this.page = page;
    this.route = route;
  }

  async open() {
    this.page.title("New issue");
    const draft = DRAFTS.get(this.route.project) ?? { title: "", body: "" };
    const form = issueForm({ ...draft, label: "File it", onError: (error) => this.page.failed(error), send: (values) => this.#file(values) });
    form.addEventListener("input", () => DRAFTS.set(this.route.project, valuesOf(form)));
    replace(this.page.root, h("section", { class: "panel" }, form));
    form.elements.title.focus();
  }

  close() {}

  again() {}

  frame() {}

  async #file(values) {
    const { project } = this.route;
    const issue = await create(`/projects/${encodeURIComponent(project)}/issues`, values);
    DRAFTS.delete(project);
    // Going back leads to the list, not to a form that has been sent.
    location.replace(to.issue(project, issue.number));
  }
}

/** Return a form with title and Markdown body; `send({title, body})` is called with what was written, and
 * `onCancel`, where it is given, when nothing is to be changed. */
export function issueForm({ title, body, label, send, onError, onCancel }) {
  const preview = h("div", { class: "markdown preview" });
  const show = (event) => event.target.open && new MarkdownView(preview).show(form.elements.body.value);
  const errors = { title: problem("title"), body: problem("body") };
  const form = actForm(
    { class: "fields" },
    async () => {
      Object.values(errors).forEach((error) => (error.textContent = ""));
      try {
        await send(valuesOf(form));
      } catch (error) {
        if (!tellFields(error, errors, form)) throw error;
      }
    },
    onError,
    h("div", { class: "field" }, h("label", { htmlFor: "issue-title" }, "Title"), h("input", { id: "issue-title", name: "title", required: true, maxLength: 200, value: title, autocomplete: "off", "aria-describedby": "issue-title-error" }), errors.title),
    h("div", { class: "field" }, h("label", { htmlFor: "issue-body" }, "Description (Markdown)"), h("textarea", { id: "issue-body", name: "body", rows: 12, value: body, "aria-describedby": "issue-body-error" }), errors.body),
    h("details", { ontoggle: show }, h("summary", {}, "Preview"), preview),
    h("div", { class: "row" }, h("button", { type: "submit", class: "primary" }, label), onCancel ? h("button", { type: "button", onclick: onCancel }, "Cancel") : null),
  );
  return form;
}

function valuesOf(form) {
  return { title: form.elements.title.value, body: form.elements.body.value };
}

function problem(name) {
  return h("p", { class: "field-error", id: `issue-${name}-error`, "aria-live": "polite" });
}

/** Show the daemon's errors beside their fields; false when they belong to none. */
function tellFields(error, errors, form) {
  const found = Object.entries(error.details?.fields ?? {}).filter(([name]) => errors[name]);
  for (const [name, text] of found) errors[name].textContent = text;
  if (found.length) form.elements[found[0][0]].focus();
  return found.length > 0;
}
