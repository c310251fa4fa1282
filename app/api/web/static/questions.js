// What waits for a human: one card for each question, above the message field, until it is answered.
// What is asked is shown whole and as it is: nobody should allow what they could not read.

import { allItems, request } from "/static/api.js";
import { byId, h } from "/static/dom.js";

/** A card that moves into another's place takes no click that was meant for the other. */
const ARMED_AFTER = 400;
const SCOPES = { session: "in this session", project: "in every session of this project" };

export class Questions {
  #session = null;
  #cards = new Map();
  /** A list that was asked for earlier may still name what has been answered since. */
  #closed = new Set();

  /** `onChange(count)` is called with how many questions are open. */
  constructor({ onError, onChange }) {
    this.root = byId("questions");
    this.onError = onError;
    this.onChange = onChange;
  }

  get count() {
    return this.#cards.size;
  }

  /** Show the open questions of this session from now on; null shows none. */
  async open(session) {
    this.#session = session;
    this.#cards.clear();
    this.root.replaceChildren();
    this.onChange(0);
    if (session) await this.refresh();
  }

  /** Read what is open; what was shown and is not open any more goes. */
  async refresh() {
    const session = this.#session;
    const open = await allItems(`${session.path}/interactions?state=pending`);
    if (session !== this.#session) return;
    const ids = new Set(open.map((question) => question.id));
    for (const id of [...this.#cards.keys()]) if (!ids.has(id)) this.#remove(id);
    for (const question of open.reverse()) this.#add(question.id, question.agent_path, question.request);
  }

  frame({ type, payload, agent_path: agentPath }) {
    if (type === "permission.requested") {
      if (payload.request_ref) this.refresh().catch(this.onError);
      else this.#add(payload.interaction_id, agentPath, payload);
    } else if (type === "permission.answered") {
      this.#remove(payload.interaction_id);
    }
  }

  #add(id, agentPath, asked) {
    if (this.#cards.has(id) || this.#closed.has(id)) return;
    const card = new Card(asked, agentPath ?? "primary", (answer) => this.#answer(id, answer));
    this.#cards.set(id, card);
    this.root.append(card.root);
    this.#changed();
  }

  #remove(id) {
    this.#closed.add(id);
    this.#cards.get(id)?.root.remove();
    if (this.#cards.delete(id)) this.#changed();
  }

  #changed() {
    for (const card of this.#cards.values()) card.arm();
    this.onChange(this.#cards.size);
  }

  async #answer(id, answer) {
    const card = this.#cards.get(id);
    card.busy(true);
    try {
      await request("POST", `${this.#session.path}/interactions/${encodeURIComponent(id)}/answer`, answer);
      this.#remove(id);
    } catch (error) {
      this.onError(error);
      // Somebody else was faster, or the run has ended: there is nothing to answer any more.
      if (error.status === 404 || error.status === 409) this.refresh().catch(this.onError);
      card.busy(false);
    }
  }
}

class Card {
  #timer = null;

  constructor({ tool, subjects, reason, source, suggestions }, agentPath, answer) {
    this.comment = h("input", { type: "text", maxLength: 2000, placeholder: "A word to the agent, if you reject", "aria-label": "A word to the agent, if you reject" });
    this.scope = h("select", { "aria-label": "Where always holds" }, Object.entries(SCOPES).map(([value, text]) => h("option", { value }, text)));
    const button = (name, text, body) => h("button", { type: "button", class: name === "once" ? "primary" : name === "reject" ? "danger" : "", data: { answer: name }, onclick: () => answer({ answer: name, ...body() }) }, text);
    const comment = () => (this.comment.value.trim() ? { comment: this.comment.value.trim() } : {});
    this.buttons = [
      button("once", "Once", () => ({})),
      suggestions.length ? button("always", "Always", () => ({ scope: this.scope.value })) : null,
      button("reject", "Reject", comment),
    ].filter(Boolean);
    const who = agentPath === "primary" ? "The agent" : agentPath;
    this.root = h(
      "section",
      { class: "question", role: "group", "aria-label": `${who} asks for permission` },
      h("p", {}, h("strong", {}, `${who} asks: may it use `), h("code", {}, tool), h("strong", {}, "?")),
      subjects.map((subject) => h("pre", { class: "subject", tabIndex: 0 }, visible(subject))),
      h("p", { class: "quiet" }, source === "watchdog" ? `The watchdog: ${reason}` : visible(reason)),
      suggestions.length
        ? h("p", { class: "quiet suggested" }, "Always would allow ", suggestions.map((rule, at) => [at ? ", " : "", h("code", {}, visible(`${rule.permission} ${rule.pattern}`))]), " ", this.scope)
        : null,
      h("div", { class: "row wrap" }, this.buttons, this.comment),
    );
  }

  /** The card is in a new place: wait a moment before it can be answered. */
  arm() {
    clearTimeout(this.#timer);
    this.busy(true);
    this.#timer = setTimeout(() => this.busy(false), ARMED_AFTER);
  }

  busy(busy) {
    for (const button of this.buttons) button.disabled = busy;
  }
}

/** Return the text with what cannot be seen, or would turn its order round, written out. */
function visible(text) {
  return text.replace(/[^\P{C}\n\t]|[\u2028\u2029\u115f\u1160\u3164]/gu, (found) => `\\u{${found.codePointAt(0).toString(16)}}`);
}
