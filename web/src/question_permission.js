// The card of a permission request. It shows the whole request: nobody should allow what they cannot read.

import { h } from "./dom.js";
import { who } from "./question_words.js";

const SCOPES = { session: "in this session", project: "in every session of this project" };

export class PermissionCard {
  /** `answer(body)` is called with what was decided. */
  constructor({ tool, subjects, reason, source, suggestions }, { agentPath, answer }) {
    this.comment = h("input", { type: "text", maxLength: 2000, placeholder: "Reason for the agent, if you reject", "aria-label": "Reason for the agent, if you reject" });
    this.scope = h("select", { "aria-label": "Scope of the rule" }, Object.entries(SCOPES).map(([value, text]) => h("option", { value }, text)));
    const button = (name, text, body) => h("button", { type: "button", class: name === "once" ? "primary" : name === "reject" ? "danger" : "", data: { answer: name }, onclick: () => answer({ answer: name, ...body() }) }, text);
    const comment = () => (this.comment.value.trim() ? { comment: this.comment.value.trim() } : {});
    this.buttons = [
      button("once", "Once", () => ({})),
      suggestions.length ? button("always", "Always", () => ({ scope: this.scope.value })) : null,
      button("reject", "Reject", comment),
    ].filter(Boolean);
    const asker = who(agentPath);
    this.root = h(
      "section",
      { class: "question", role: "group", "aria-label": `${asker} asks for permission` },
      h("p", {}, h("strong", {}, `${asker} asks: may it use `), h("code", {}, tool), h("strong", {}, "?")),
      subjects.map((subject) => h("pre", { class: "subject", tabIndex: 0 }, visible(subject))),
      h("p", { class: "quiet" }, source === "watchdog" ? `The watchdog: ${reason}` : visible(reason)),
      suggestions.length
        ? h("p", { class: "quiet suggested" }, "“Always” allows ", suggestions.map((rule, at) => [at ? ", " : "", h("code", {}, visible(`${rule.permission} ${rule.pattern}`))]), " ", this.scope)
        : null,
      h("div", { class: "row wrap" }, this.buttons, this.comment),
    );
  }

  refuse() {
    return null;
  }

  close() {}
}

/** Return the text with what cannot be seen, or would turn its order round, written out. */
function visible(text) {
  return text.replace(/[^\P{C}\n\t]|[\u2028\u2029\u115f\u1160\u3164]/gu, (found) => `\\u{${found.codePointAt(0).toString(16)}}`);
}
