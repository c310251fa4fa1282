// The conversation of one session: stored messages and live frames become the same elements.
// A frame may come twice, stored and live; rendering it again changes nothing.

import { Answer } from "./answer.js";
import { h } from "./dom.js";
import { clock, dollars, duration, tokens, words } from "./format.js";
import { answered } from "./question_answered.js";
import { whole } from "./tool_result.js";

const ACTOR = document.documentElement.dataset.actor;
const HELD = "waits for your next message";

export class Conversation {
  #answers = new Map();
  #posts = new Map();
  #cards = new Map();
  #runs = new Set();
  #places = new Map();
  #newest = new Map();
  /** The answers whose calls may still get a result, and the answer that was made last. */
  #unsettled = new Set();
  #last = null;
  #at = null;
  #folded = null;

  /** `onGap()` is called when an answer has ended of which something was missed; `history` gives what each
   * message offers, and folds for those that are no part of the conversation any more. */
  constructor(root, waiting, { onGap, history }) {
    this.root = root;
    this.waiting = waiting;
    this.onGap = onGap;
    this.history = history;
    this.#at = root;
  }

  get empty() {
    return this.#answers.size + this.#posts.size === 0;
  }

  clear() {
    this.root.replaceChildren();
    this.waiting.replaceChildren();
    for (const known of [this.#answers, this.#posts, this.#cards, this.#runs, this.#places, this.#newest, this.#unsettled]) known.clear();
    this.#at = this.root;
    this.#last = null;
    this.#folded = null;
  }

  /** Show stored messages, and how their runs ended, in place of what is shown. */
  load(messages, runs) {
    this.clear();
    const ended = new Map(runs.filter((run) => run.ended_at !== null).map((run) => [run.id, run]));
    const last = new Map(messages.map((message) => [message.run_id, message.id]));
    for (const message of messages) {
      this.#fold(message);
      this.#stored(message);
      const run = ended.get(message.run_id);
      if (run && last.get(run.id) === message.id) this.#runEnded({ run_id: run.id, ...run, steps: run.step_count, duration_ms: lasted(run) });
    }
  }

  /** A call waits for a person; its run may end meanwhile. */
  asks({ run_id: runId, tool_call_id: callId }) {
    this.#card(runId, callId)?.wait();
  }

  /** A question was answered, or is not open any more: show what became of it at its call. */
  answered(question) {
    const card = this.#card(question.run_id, question.tool_call_id);
    if (question.kind === "permission" && question.state !== "answered") return;
    card?.answered(answered(question), { open: question.kind !== "permission" });
  }

  /** The connection was away: whatever is being streamed may have lost something. */
  interrupted() {
    for (const answer of this.#answers.values()) if (!answer.complete) answer.gap = true;
  }

  frame({ type, payload, ts, agent_path: agentPath, run_id: runId }) {
    this.#folded = null;
    this.#at = this.#place(runId, agentPath);
    switch (type) {
      case "message.posted":
        return this.#posted({ id: payload.message_id, at: ts, ...payload });
      case "message.start":
        return this.#started(payload, agentPath, runId);
      case "message.delta":
        return this.#answer(payload.messageId, runId, true).delta(payload.kind, payload.delta, payload.attempt);
      case "message.snapshot":
        return this.#answer(payload.messageId, runId, true).snapshot(payload);
      case "message.tool_call":
        return this.#toolCall(payload, runId);
      case "message.tool_result":
        return this.#card(runId, payload.toolCallId)?.finish(payload);
      case "tool.progress":
        return this.#cards.get(cardKey(runId, payload.tool_call_id))?.progress(payload.text);
      case "message.end":
        return this.#ended(payload, runId);
      case "run.started":
        return this.#at === this.root ? this.#runStarted(payload) : undefined;
      case "step.started":
        // A steer enters between two steps, never before the first one.
        return payload.step > 1 && this.#at === this.root ? this.#deliver((post) => post.delivery === "steer") : undefined;
      case "run.ended":
        return this.#runEnded(payload);
      case "model.retry":
        return this.#retry(payload);
      case "budget.warning":
        if (payload.unpriced_model) return this.#note(`The limit of ${payload.limit} ${payload.unit} has no effect: ${payload.unpriced_model} has no known price.`, "warning");
        return this.#note(`Limit ${payload.reached ? "reached" : "near"}: ${payload.used} of ${payload.limit} ${payload.unit}`, "warning");
      case "prompt.reloaded":
        return this.#note(`The prompt of ${payload.agents.join(", ")} was reloaded.`);
      case "prompt.failed":
        return payload.prompts.forEach((prompt) => this.#note(`The prompt ${prompt.file} cannot be used (${prompt.message}). The last good text stays in use.`, "warning"));
      case "checkpoint.created":
        return payload.detail ? this.#note(`Paused: ${payload.detail}`) : undefined;
      default:
        return undefined;
    }
  }

  /** Return the card of a call. The result of one that waited may come in a later run than the call. */
  #card(runId, callId) {
    const waits = () => [...this.#cards.values()].findLast((card) => card.id === callId && card.waiting);
    return this.#cards.get(cardKey(runId, callId)) ?? waits();
  }

  /** Return where an agent's messages go: a subagent's into a fold of its own, one for each delegation. */
  #place(runId, agentPath) {
    if (!runId || !agentPath || agentPath === "primary") return this.root;
    let place = this.#places.get(runId);
    if (place === undefined) {
      const cut = agentPath.lastIndexOf(".subagents.");
      const above = this.#newest.get(agentPath.slice(0, cut)) ?? this.root;
      place = h("details", { class: "delegation", data: { agent: agentPath, run: runId } }, h("summary", { class: "quiet" }, `Agent ${agentPath.slice(cut + 11)}`));
      this.#places.set(runId, place);
      this.#newest.set(agentPath, place);
      above.append(place);
    }
    return place;
  }

  /** Put messages that were taken out together into one fold. */
  #fold(message) {
    const by = message.superseded && message.position !== null && message.agent_path === "primary" ? message.superseded_by ?? "" : null;
    if (by === null) {
      if (message.agent_path === "primary") this.#folded = null;
      return;
    }
    if (this.#folded?.by !== by) {
      this.#folded = { by, ...this.history.fold(by) };
      this.root.append(this.#folded.root);
    }
    if (message.role !== "tool") this.#folded.add();
  }

  #stored(message) {
    this.#at = this.#place(message.run_id, message.agent_path);
    if (this.#at === this.root && this.#folded) this.#at = this.#folded.root;
    if (message.role === "tool") {
      const { toolCallId, isError, metadata } = message.details;
      this.#card(message.run_id, toolCallId)?.finish({ content: message.content, isError, durationMs: metadata?.duration_ms });
    } else if (message.role === "primary" || message.role === "subagent") {
      this.#answer(message.id, message.run_id).stored(message);
    } else {
      const queued = message.position === null;
      this.#posted({ id: message.id, at: message.created_at, created_by: message.details.createdBy, queued, ...message });
    }
  }

  #posted({ id, role, content, delivery, queued, created_by: by, at, content_ref: rest }) {
    const known = this.#posts.get(id);
    if (known !== undefined) {
      if (!queued) this.#deliver((post) => post === known);
      return;
    }
    const badge = h("span", { class: "badge" });
    const who = role !== "operator" ? "kaged" : !by || by === ACTOR ? "You" : by;
    const root = h(
      "article",
      { class: role === "operator" ? "post" : "post from-daemon", "aria-label": who, data: { id } },
      h("header", { class: "quiet" }, `${who} · ${clock(at)}`, badge),
      h("div", { class: "post-text" }, content),
      rest ? whole("message", rest) : null,
      this.#at === this.root ? this.history.actions(id) : null,
    );
    const post = { root, badge, delivery, queued };
    this.#posts.set(id, post);
    badge.textContent = queued ? waitingWords(delivery) : delivery === "steer" ? "steered" : "";
    (queued ? this.waiting : this.#at).append(root);
  }

  #started(payload, agentPath, runId) {
    const answer = this.#answer(payload.messageId, runId);
    if (answer.complete) return;
    answer.start(payload);
    if (agentPath && agentPath !== "primary") answer.root.dataset.agent = agentPath;
  }

  /** Return the answer, made when it is new; one that begins in its middle has a gap. */
  #answer(id, runId, inTheMiddle = false) {
    let answer = this.#answers.get(id);
    if (answer === undefined) {
      answer = new Answer(id, { onCard: (card) => this.#cards.set(cardKey(runId, card.id), card) });
      answer.runId = runId;
      answer.gap = inTheMiddle;
      this.#answers.set(id, answer);
      this.#unsettled.add(answer);
      this.#last = answer;
      this.#at.append(answer.root);
      if (this.#at === this.root) answer.root.append(this.history.actions(id));
    }
    return answer;
  }

  #toolCall(payload, runId) {
    const answer = this.#answer(payload.messageId, runId, true);
    if (!answer.complete && payload.attempt >= answer.attempt) answer.call(payload);
  }

  #ended(payload, runId) {
    const answer = this.#answer(payload.messageId, runId, true);
    if (answer.complete) return;
    answer.end(payload);
    if (answer.gap) this.onGap();
  }

  #runStarted(payload) {
    const trigger = this.#posts.get(payload.trigger_message_id);
    if (trigger === undefined) return;
    this.#deliver((post) => post.delivery === "held");
    trigger.queued = true;
    this.#deliver((post) => post === trigger);
  }

  /** Move the waiting messages that `chosen` picks into the conversation. */
  #deliver(chosen) {
    for (const post of this.#posts.values()) {
      if (!post.queued || !chosen(post)) continue;
      post.queued = false;
      post.badge.textContent = post.delivery === "steer" ? "steered" : "";
      this.root.append(post.root);
    }
  }

  #runEnded({ run_id: id, state, reason, error, steps, usage, cost_usd: cost, total_cost_usd: total, duration_ms: took }) {
    if (this.#runs.has(id)) return;
    this.#runs.add(id);
    const place = this.#places.get(id) ?? this.root;
    const root = place === this.root;
    if (state === "cancelled" && root) this.#hold();
    for (const answer of this.#unsettled) {
      if (!answer.complete || (!root && answer.runId !== id)) continue;
      answer.cards.forEach((card) => card.abandon());
      this.#unsettled.delete(answer);
    }
    const why = reason && !["stop", state].includes(reason) ? words(reason) : "";
    const spent = usage.input_tokens + usage.output_tokens + usage.cache_read_tokens + usage.cache_write_tokens;
    const asked = reason === "interaction";
    const facts = [asked ? "Run paused for an answer" : `Run ${state}`, asked ? "" : why, `${steps} step${steps === 1 ? "" : "s"}`, spent ? tokens(spent) : "", total > (cost ?? 0) ? `${dollars(total)} with subagents` : dollars(cost), duration(took)];
    const line = h("p", { class: "run-end quiet", data: { state } }, facts.filter(Boolean).join(" · "));
    place.append(line);
    const shown = this.#last?.root.querySelector(".failure")?.textContent;
    if (error?.message && error.message !== shown) line.append(h("span", { class: "failure" }, error.message));
  }

  /** After a cancel nothing that waits starts by itself. */
  #hold() {
    for (const post of this.#posts.values()) {
      if (!post.queued) continue;
      post.delivery = "held";
      post.badge.textContent = HELD;
    }
  }

  #retry({ message, fallback_to: next, delay_ms: delay }) {
    if (next === null && delay === null) return;
    const then = next ? `trying ${next}` : `trying again in ${duration(delay)}`;
    this.#note(`↻ ${message}; ${then}`, "warning");
  }

  #note(text, kind = "") {
    this.#at.append(h("p", { class: `note quiet ${kind}` }, text));
  }
}

/** Tool calls have names that are unique within a run only. */
function cardKey(runId, callId) {
  return `${runId} ${callId}`;
}

function waitingWords(delivery) {
  if (delivery === "steer") return "steers at the next step";
  return delivery === "held" ? HELD : "queued";
}

function lasted(run) {
  return run.started_at === null ? null : Date.parse(run.ended_at) - Date.parse(run.started_at);
}
