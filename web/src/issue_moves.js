// The status of an issue, and the statuses that it can have next.

import { request } from "./api.ts";
import { actButton, actForm } from "./act.ts";
import { h, redraw } from "./dom.ts";
import { words } from "./format.ts";
import { statusPill } from "./issue_words.js";

/** Closing an issue needs a comment. */
const NEEDS_COMMENT = new Set(["resolved", "rejected"]);
const LABELS = { triaged: "Triaged", assigned: "Assigned", in_progress: "In progress", resolved: "Resolve…", rejected: "Reject…", reopened: "Reopen" };
const ASKS = { resolved: "What was done?", rejected: "Reason" };

export class IssueMoves {
  #issue = null;
  #asking = null;

  constructor({ path, onError, onChanged }) {
    this.path = path;
    this.onError = onError;
    this.onChanged = onChanged;
    this.content = h("div", { class: "moves" });
    this.root = h("section", { "aria-label": "Status" }, h("h3", {}, "Status"), this.content);
  }

  show(issue) {
    this.#issue = issue;
    if (this.#asking && !issue.legal_transitions.includes(this.#asking)) this.#asking = null;
    this.#draw();
  }

  #draw() {
    const issue = this.#issue;
    const buttons = issue.legal_transitions.map((status) =>
      NEEDS_COMMENT.has(status)
        ? h("button", { type: "button", class: "small", data: { key: `move-${status}`, move: status }, "aria-expanded": String(this.#asking === status), onclick: () => this.#ask(status) }, LABELS[status])
        : actButton(LABELS[status], () => this.#move(status, null), { onError: this.onError, key: `move-${status}`, class: "small", data: { move: status } }),
    );
    redraw(this.content, statusPill(issue.status), h("div", { class: "row wrap", role: "group", "aria-label": "Move to" }, buttons), this.#asking ? this.#form(this.#asking) : null);
  }

  #ask(status) {
    this.#asking = this.#asking === status ? null : status;
    this.#draw();
    this.content.querySelector("textarea")?.focus();
  }

  #form(status) {
    const close = () => {
      this.#asking = null;
      this.#draw();
      this.content.querySelector(`[data-move="${status}"]`)?.focus();
    };
    return actForm(
      { class: "fields inline-form" },
      (form) => this.#move(status, form.elements.comment.value),
      this.onError,
      h("label", {}, ASKS[status], h("textarea", { name: "comment", rows: 3, required: true, data: { key: `comment-${status}` } })),
      h("div", { class: "row" }, h("button", { type: "submit", class: "small primary", data: { key: "move-send" } }, words(`mark ${status}`)), h("button", { type: "button", class: "small", onclick: close }, "Cancel")),
    );
  }

  async #move(status, comment) {
    await request("POST", `${this.path}/transition`, { to: status, ...(comment ? { comment } : {}) });
    this.#asking = null;
    await this.onChanged();
  }
}
