// Open questions: one card each, above the message field, until it is answered.

import { allItems, request } from "./api.js";
import { byId } from "./dom.js";
import { ChoicesCard } from "./question_choices.js";
import { FormCard } from "./question_form.js";
import { PermissionCard } from "./question_permission.js";
import { PlanCard } from "./question_plan.js";

/** A card that moves into the place of another ignores clicks for a moment: they were meant for the other. */
const ARMED_AFTER = 400;
const SHOWN_ANSWERS = 200;
const OPENED = new Set(["permission.requested", "interaction.requested"]);
const CLOSED = new Set(["permission.answered", "interaction.answered"]);

export class Questions {
  #session = null;
  #cards = new Map();
  /** A list that was asked for earlier may still name what has been answered since. */
  #closed = new Set();

  /** `onChange()` is called when another number of questions is open; `onOpen(interaction)` and
   * `onClosed(interaction)` with each question, for the place where it was asked. */
  constructor({ onError, onChange, onOpen, onClosed }) {
    this.root = byId("questions");
    Object.assign(this, { onError, onChange, onOpen, onClosed });
  }

  get count() {
    return this.#cards.size;
  }

  /** Show the open questions of this session from now on; null shows none. */
  async open(session) {
    this.#session = session;
    for (const card of this.#cards.values()) card.close();
    this.#cards.clear();
    this.root.replaceChildren();
    this.onChange();
    if (session) await this.refresh();
  }

  /** Read what is open and what was answered; what was shown and is not open any more goes. */
  async refresh() {
    const session = this.#session;
    const path = `${session.path}/interactions`;
    const [open, answered] = await Promise.all([allItems(`${path}?state=pending`), allItems(path, { limit: SHOWN_ANSWERS })]);
    if (session !== this.#session) return;
    const ids = new Set(open.map((question) => question.id));
    for (const id of [...this.#cards.keys()]) if (!ids.has(id)) this.#remove(id);
    for (const question of open.reverse()) this.#add(question);
    for (const question of answered) if (question.state !== "pending") this.onClosed(question);
  }

  frame({ type, payload, agent_path: agentPath, run_id: runId }) {
    if (CLOSED.has(type)) {
      this.#remove(payload.interaction_id);
      this.#read(payload.interaction_id, this.onClosed);
    } else if (OPENED.has(type)) {
      const { interaction_id: id, tool_call_id: callId, request_ref: elsewhere } = payload;
      const asked = type === "permission.requested" ? { kind: "permission", request: payload } : payload;
      if (elsewhere) this.#read(id, (question) => question.state === "pending" && this.#add(question));
      else this.#add({ id, run_id: runId, tool_call_id: callId, agent_path: agentPath, ...asked });
    }
  }

  async #read(id, then) {
    const session = this.#session;
    try {
      const question = await request("GET", `${session.path}/interactions/${encodeURIComponent(id)}`);
      if (session === this.#session) then(question);
    } catch (error) {
      this.onError(error);
    }
  }

  #add(question) {
    const { id } = question;
    if (this.#closed.has(id)) return;
    this.onOpen(question);
    if (this.#cards.has(id)) return;
    const card = this.#card(question);
    this.#cards.set(id, card);
    this.root.append(card.root);
    this.#changed();
  }

  #card({ id, kind, request: asked, agent_path: path }) {
    const agentPath = path ?? "primary";
    const answer = (body) => this.#answer(id, body);
    if (kind === "form") return new FormCard(asked, { agentPath, uploadPath: `${this.#session.path}/interactions/${encodeURIComponent(id)}/files`, send: (values) => answer({ values }) });
    if (kind === "ask") return new ChoicesCard(ofAsk(asked), { agentPath, send: (answers) => answer({ answers }) });
    if (kind === "question") return new ChoicesCard(ofQuestion(asked), { agentPath, send: (answers) => answer({ answers: Object.values(answers) }) });
    if (kind === "plan") return new PlanCard(asked, { agentPath, send: answer });
    return new PermissionCard(asked, { agentPath, answer });
  }

  #remove(id) {
    this.#closed.add(id);
    const card = this.#cards.get(id);
    if (!card) return;
    const focused = card.root.contains(document.activeElement);
    card.close();
    card.root.remove();
    this.#cards.delete(id);
    this.#changed();
    // The keyboard goes on at the next question, where one writes, or where the agent's answer comes.
    const next = this.root.querySelector("input, textarea, button") ?? byId("message");
    if (focused) (next.hidden ? byId("conversation-scroll") : next).focus({ preventScroll: true });
  }

  #changed() {
    for (const card of this.#cards.values()) arm(card);
    this.onChange();
  }

  async #answer(id, body) {
    const card = this.#cards.get(id);
    busy(card, true);
    try {
      await request("POST", `${this.#session.path}/interactions/${encodeURIComponent(id)}/answer`, body);
      this.#remove(id);
    } catch (error) {
      this.#refused(card, error);
      // Somebody else was faster, or the run has ended: there is nothing to answer any more.
      if (error.status === 404 || error.status === 409) this.refresh().catch(this.onError);
      busy(card, false);
    }
  }

  /** Show each problem beside its field, and the rest as a notice. */
  #refused(card, error) {
    const rest = error.details?.fields ? card.refuse(error.details.fields) : null;
    if (rest === null) this.onError(error);
    else if (rest.length) this.onError({ message: rest.join("; ") });
  }
}

/** The card is in a new place: wait a moment before it can be answered. */
function arm(card) {
  clearTimeout(card.timer);
  busy(card, true);
  card.timer = setTimeout(() => busy(card, false), ARMED_AFTER);
}

function busy(card, is) {
  for (const button of card.buttons) button.disabled = is;
}

function ofAsk({ summary, questions }) {
  return { summary, questions: questions.map((question) => ({ key: question.id, title: question.title, description: question.description, options: question.options, multiple: question.multiple, other: question.allow_other })) };
}

function ofQuestion({ questions }) {
  return {
    questions: questions.map((question, at) => ({ key: String(at), title: question.question, heading: question.header, options: question.options ?? [], multiple: question.multi_select, other: !question.options?.length })),
  };
}
