// The card of a plan that an agent proposes in plan mode. It is accepted as it is or with changes, or rejected.

import { h } from "./dom.js";
import { MarkdownView } from "./markdown.js";
import { who } from "./question_words.js";

const MODES = { edits: "Accept edits", ask: "Ask", full: "Full" };

export class PlanCard {
  /** `send(decision)` gets the body of the answer. */
  constructor({ plan }, { agentPath, send }) {
    this.plan = plan;
    this.shown = h("div", { class: "plan-text markdown", tabIndex: 0 });
    new MarkdownView(this.shown).show(plan);
    this.editor = h("textarea", { class: "plan-editor", rows: 12, maxLength: 50_000, "aria-label": "The plan", value: plan, hidden: true });
    this.mode = h("select", { "aria-label": "Mode for carrying out the plan" }, Object.entries(MODES).map(([value, text]) => h("option", { value }, text)));
    this.comment = h("input", { type: "text", maxLength: 10_000, placeholder: "Comment for the agent", "aria-label": "Comment for the agent" });
    this.edit = h("button", { type: "button", data: { answer: "edit" }, onclick: () => this.#edit() }, "Edit");
    this.buttons = [
      h("button", { type: "button", class: "primary", data: { answer: "accept" }, onclick: () => send(this.#accepted()) }, "Accept"),
      this.edit,
      h("button", { type: "button", class: "danger", data: { answer: "reject" }, onclick: () => send({ decision: "reject", ...this.#commented() }) }, "Reject"),
    ];
    const asker = who(agentPath);
    this.root = h(
      "section",
      { class: "question plan", role: "group", "aria-label": `${asker} proposes a plan` },
      h("p", {}, h("strong", {}, `${asker} proposes a plan.`)),
      this.shown,
      this.editor,
      h("div", { class: "row wrap" }, this.buttons[0], h("label", {}, h("span", { class: "quiet" }, "in mode "), this.mode), this.buttons.slice(1), this.comment),
    );
  }

  refuse(problems) {
    return Object.entries(problems).map(([name, problem]) => `${name}: ${problem}`);
  }

  close() {}

  #edit() {
    this.shown.hidden = true;
    this.editor.hidden = false;
    this.edit.hidden = true;
    this.editor.focus();
  }

  #accepted() {
    const changed = this.editor.value !== this.plan;
    const plan = changed ? { decision: "edit", plan: this.editor.value } : { decision: "accept" };
    return { ...plan, mode: this.mode.value, ...this.#commented() };
  }

  #commented() {
    const comment = this.comment.value.trim();
    return comment ? { comment } : {};
  }
}
