// The status of an issue, and the statuses that it can have next.

import { request, type Schemas } from "../api.ts";
import { actButton, actForm } from "../act.ts";
import { h } from "../dom.ts";
import { words } from "../format.ts";
import { redraw } from "../redraw.ts";
import type { Issue, PartGiven, Status } from "./types.ts";
import { statusPill } from "./words.ts";

type Closing = "resolved" | "rejected";

const LABELS: Partial<Record<Status, string>> = { triaged: "Triaged", assigned: "Assigned", in_progress: "In progress", resolved: "Resolve…", rejected: "Reject…", reopened: "Reopen" };
/** Closing an issue needs a comment. */
const ASKS: Record<Closing, string> = { resolved: "What was done?", rejected: "Reason" };

export class IssueMoves {
  readonly root: HTMLElement;
  readonly #given: PartGiven;
  readonly #content: HTMLElement;
  #issue: Issue | null = null;
  #asking: Closing | null = null;

  constructor(given: PartGiven) {
    this.#given = given;
    this.#content = h("div", { class: "moves" });
    this.root = h("section", { "aria-label": "Status" }, h("h3", {}, "Status"), this.#content);
  }

  show(issue: Issue): void {
    this.#issue = issue;
    if (this.#asking && !issue.legal_transitions.includes(this.#asking)) this.#asking = null;
    this.#draw();
  }

  #draw(): void {
    const issue = this.#issue;
    if (!issue) return;
    const buttons = issue.legal_transitions.map((status) => this.#button(status));
    redraw(this.#content, statusPill(issue.status), h("div", { class: "row wrap", role: "group", "aria-label": "Move to" }, buttons), this.#asking ? this.#form(this.#asking) : null);
  }

  #button(status: Status): HTMLElement {
    const label = LABELS[status] ?? words(status);
    if (status !== "resolved" && status !== "rejected") return actButton(label, () => this.#move(status, null), { onError: this.#given.onError, key: `move-${status}`, class: "small", data: { move: status } });
    return h("button", { type: "button", class: "small", data: { key: `move-${status}`, move: status }, "aria-expanded": String(this.#asking === status), onclick: () => this.#ask(status) }, label);
  }

  #ask(status: Closing): void {
    this.#asking = this.#asking === status ? null : status;
    this.#draw();
    this.#content.querySelector("textarea")?.focus();
  }

  #form(status: Closing): HTMLElement {
    const close = () => {
      this.#asking = null;
      this.#draw();
      this.#content.querySelector<HTMLElement>(`[data-move="${status}"]`)?.focus();
    };
    const comment = h("textarea", { name: "comment", rows: 3, required: true, data: { key: `comment-${status}` } });
    return actForm(
      { class: "fields inline-form" },
      () => this.#move(status, comment.value),
      this.#given.onError,
      h("label", {}, ASKS[status], comment),
      h("div", { class: "row" }, h("button", { type: "submit", class: "small primary", data: { key: "move-send" } }, words(`mark ${status}`)), h("button", { type: "button", class: "small", data: { key: "move-cancel" }, onclick: close }, "Cancel")),
    );
  }

  async #move(status: Status, comment: string | null): Promise<void> {
    const move: Schemas["TransitionIssue"] = { to: status, ...(comment ? { comment } : {}) };
    await request("POST", `${this.#given.path}/transition`, move);
    this.#asking = null;
    await this.#given.onChanged();
  }
}
