// One open session: reads what is stored, then follows the stream from there.

import { allItems, request, socketAddress } from "./api.js";
import { goneWords } from "./gone.js";
import { Stream } from "../../clients/typescript/src/stream.js";

const STATE_EVENTS = new Set(["session.state", "session.updated", "run.started", "run.ended", "run.queued", "message.posted"]);

const REWRITTEN = new Set(["session.rolled_back", "session.rollback_undone", "compaction.completed", "message.edited", "message.removed"]);

export class OpenSession {
  #stream = null;
  #held = null;
  #closed = false;
  #wasLive = false;
  /** Whether what is shown could not be read again when it had changed. */
  #stale = false;

  /** `onDetail(detail)` when the session's own data changed, `onFrame(frame)` for every frame, `onReload()`
   * when everything was read again, `onError(error)`. */
  constructor(id, conversation, { onDetail, onFrame, onStatus, onReload, onError }) {
    this.id = id;
    this.conversation = conversation;
    this.handlers = { onDetail, onFrame, onStatus, onReload, onError };
    this.detail = null;
  }

  get path() {
    return `/sessions/${encodeURIComponent(this.id)}`;
  }

  /** Show what is stored and follow what happens. Throws `ApiError` when there is no such session. */
  async open() {
    const detail = await this.#load();
    if (this.#closed) return;
    this.#stream = new Stream(socketAddress(`${this.path}/ws`), {
      afterSeq: detail.last_seq,
      onFrame: (frame) => this.#take(frame),
      onStatus: (status) => this.#status(status),
      onGone: (code, reason) => this.handlers.onError({ code, message: goneWords(code, reason), gone: true }),
    });
  }

  close() {
    this.#closed = true;
    this.#stream?.close();
  }

  /** Read the session's own data again: tokens, cost, state. */
  async refresh() {
    const detail = await request("GET", this.path);
    if (this.#closed) return;
    this.detail = detail;
    this.handlers.onDetail(detail);
  }

  /** Read everything stored again and show it; frames that come meanwhile wait. */
  async reload() {
    if (this.#held !== null) return;
    this.#held = [];
    try {
      await this.#load();
      this.#stale = false;
      this.handlers.onReload();
    } catch (error) {
      this.#stale = true;
      this.handlers.onError(error);
    }
    const held = this.#held;
    this.#held = null;
    held.forEach((frame) => this.#take(frame));
  }

  async #load() {
    // The newest event is asked for first: what happens while the messages are read comes as frames.
    const detail = await request("GET", this.path);
    const [messages, runs] = await Promise.all([allItems(`${this.path}/messages?include_superseded=true`), allItems(`${this.path}/runs`)]);
    if (this.#closed) return detail;
    this.detail = detail;
    this.conversation.load(messages, runs);
    this.handlers.onDetail(detail);
    return detail;
  }

  #status(status) {
    if (status === "live" && this.#wasLive) this.conversation.interrupted();
    this.#wasLive ||= status === "live";
    if (status === "live" && this.#stale) this.reload();
    this.handlers.onStatus(status);
  }

  #take(frame) {
    if (this.#closed) return;
    if (this.#held !== null) {
      this.#held.push(frame);
      return;
    }
    if (REWRITTEN.has(frame.type)) {
      this.handlers.onFrame(frame);
      this.reload();
      return;
    }
    if (frame.type === "resync") {
      this.reload();
      return;
    }
    this.conversation.frame(frame);
    if (STATE_EVENTS.has(frame.type)) this.#note(frame);
    this.handlers.onFrame(frame);
  }

  /** Keep the session's own data up to date with what frames tell. */
  #note({ type, payload, agent_path: agentPath }) {
    if (type === "session.state") {
      this.detail = { ...this.detail, state: payload.state, state_reason: payload.reason };
      if (payload.state !== "running") this.refresh().catch(this.handlers.onError);
    } else if (type === "session.updated") {
      this.detail = { ...this.detail, title: payload.title, issue_number: payload.issue_number, mode: payload.mode };
    } else if (type === "run.started" && (agentPath ?? "primary") === "primary") {
      this.detail = { ...this.detail, active_run: payload.run_id };
    } else if (type === "run.ended" && (agentPath ?? "primary") === "primary") {
      this.detail = { ...this.detail, active_run: null, last_run: { id: payload.run_id, state: payload.state, reason: payload.reason } };
    }
    this.handlers.onDetail(this.detail);
  }
}
