// One open session: reads the end of what is stored, then follows the stream from there. Older messages are read when
// the reader comes to them.

import { address, request, socketAddress, type Page, type Schemas } from "../api.ts";
import { goneWords } from "../gone.ts";
import { loadViews } from "./loaded.svelte.ts";
import { Stream } from "../../../clients/typescript/src/stream.js";
import type { Conversation } from "./conversation.svelte.ts";
import { InFlight } from "./in_flight.ts";
import type { Frame, Message, Run, Superseded } from "./types.ts";

/** What fills a large screen, with the calls between. */
const NEWEST = 60;
const OLDER = 100;
const RUNS = 100;
const ROOT = "primary";

const STATE_EVENTS = new Set(["session.state", "session.updated", "run.started", "run.ended", "run.queued", "message.posted"]);
const REWRITTEN = new Set(["session.rolled_back", "session.rollback_undone", "compaction.completed"]);

interface Handlers {
  /** The session's own data changed. */
  onDetail(detail: Schemas["SessionDetail"]): void;
  onFrame(frame: Frame): void;
  onStatus(status: string): void;
  /** Everything was read again. */
  onReload(): void;
  onError(error: unknown): void;
}

export class OpenSession {
  readonly id: string;
  readonly conversation: Conversation;
  readonly handlers: Handlers;
  detail: Schemas["SessionDetail"] | null = null;
  readonly #inFlight = new InFlight();
  #stream: Stream | null = null;
  #held: Frame[] | null = null;
  #closed = false;
  #wasLive = false;
  /** Whether what is shown could not be read again when it had changed. */
  #stale = false;
  #older: string | null = null;
  #olderRuns: string | null = null;
  #reading: Promise<void> | null = null;
  /** How often its own data was asked for, and how often frames have changed them. */
  #asked = 0;
  #noted = 0;

  constructor(id: string, conversation: Conversation, handlers: Handlers) {
    this.id = id;
    this.conversation = conversation;
    this.handlers = handlers;
  }

  get path(): string {
    return `/sessions/${encodeURIComponent(this.id)}`;
  }

  /** Show what is stored and follow what happens. Throws `ApiError` when there is no such session. */
  async open(): Promise<void> {
    const detail = await this.#load();
    if (this.#closed) return;
    this.#stream = new Stream(socketAddress(`${this.path}/ws`), {
      afterSeq: detail.last_seq,
      // What was said before of an answer that is being written is not stored yet.
      snapshots: "all",
      onFrame: (frame) => this.#take(frame as Frame),
      onStatus: (status) => this.#status(status),
      onGone: (code, reason) => this.handlers.onError({ code, message: goneWords(code, reason), gone: true }),
    });
  }

  close(): void {
    this.#closed = true;
    this.#stream?.close();
  }

  /** Read the session's own data again: tokens, cost, state. An answer that may be older than what is known is asked
  for once more. */
  async refresh(): Promise<void> {
    this.#asked += 1;
    const asked = this.#asked;
    let noted: number;
    let detail: Schemas["SessionDetail"];
    do {
      noted = this.#noted;
      detail = await request("GET", this.path);
      if (this.#closed || asked !== this.#asked) return;
    } while (noted !== this.#noted);
    this.detail = detail;
    this.handlers.onDetail(detail);
  }

  /** Read the end of what is stored again and show it; frames that come meanwhile wait. */
  async reload(): Promise<void> {
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

  /** Read the messages before those that are shown. Returns whether there are more. */
  async older(): Promise<boolean> {
    this.#reading ??= this.#readOlder().finally(() => (this.#reading = null));
    await this.#reading;
    return this.#older !== null;
  }

  async #load(): Promise<Schemas["SessionDetail"]> {
    // The newest event is asked for first: what happens while the messages are read comes as frames.
    const detail: Schemas["SessionDetail"] = await request("GET", this.path);
    const begun = detail.last_run !== null || detail.active_run !== null;
    const nothing = { items: [], next_cursor: null };
    const [messages, runs, taken] = await Promise.all([this.#messages(null, NEWEST), begun ? this.#runs(null) : nothing, begun ? request<Page<Superseded>>("GET", `${this.path}/superseded`) : nothing, begun ? loadViews() : null]);
    if (this.#closed) return detail;
    this.#asked += 1;
    this.detail = detail;
    this.#older = messages.next_cursor;
    this.#olderRuns = runs.next_cursor;
    this.conversation.load({ messages: messages.items.reverse(), runs: runs.items, superseded: taken.items, more: this.#older !== null, seq: detail.last_seq, inFlight: this.#inFlight });
    this.handlers.onDetail(detail);
    return detail;
  }

  async #readOlder(): Promise<void> {
    if (this.#older === null) return;
    const asked = this.#older;
    const messages = await this.#messages(asked, OLDER);
    await this.#readRuns(messages.items);
    // What is shown was read again meanwhile.
    if (this.#closed || asked !== this.#older) return;
    this.#older = messages.next_cursor;
    await this.conversation.older(messages.items.reverse(), this.#older !== null);
  }

  /** Read runs until those of these messages are known. */
  async #readRuns(messages: Message[]): Promise<void> {
    const unknown = () => messages.some(({ run_id: id }) => id !== null && !this.conversation.knows(id));
    while (this.#olderRuns !== null && unknown()) {
      const runs: Page<Run> = await this.#runs(this.#olderRuns);
      this.#olderRuns = runs.next_cursor;
      this.conversation.know(runs.items);
    }
  }

  #messages(cursor: string | null, limit: number): Promise<Page<Message>> {
    return request("GET", address(`${this.path}/messages`, { order: "newest", agent_path: ROOT, limit, cursor }));
  }

  #runs(cursor: string | null): Promise<Page<Run>> {
    return request("GET", address(`${this.path}/runs`, { all: true, limit: RUNS, cursor }));
  }

  #status(status: string): void {
    if (status === "live" && this.#wasLive) this.conversation.interrupted();
    this.#wasLive ||= status === "live";
    if (status === "live" && this.#stale) void this.reload();
    this.handlers.onStatus(status);
  }

  #take(frame: Frame): void {
    if (this.#closed) return;
    if (this.#held !== null) {
      this.#held.push(frame);
      return;
    }
    if (REWRITTEN.has(frame.type)) {
      this.handlers.onFrame(frame);
      void this.reload();
      return;
    }
    if (frame.type === "resync") {
      void this.reload();
      return;
    }
    this.conversation.frame(frame);
    if (STATE_EVENTS.has(frame.type)) this.#note(frame);
    this.handlers.onFrame(frame);
  }

  /** Keep the session's own data up to date with what frames tell. */
  #note({ type, payload, agent_path: agentPath }: Frame): void {
    if (!this.detail) return;
    this.#noted += 1;
    const root = (agentPath ?? ROOT) === ROOT;
    if (type === "session.state") {
      this.detail = { ...this.detail, state: payload.state, state_reason: payload.reason };
      if (payload.state !== "running") this.refresh().catch(this.handlers.onError);
    } else if (type === "session.updated") {
      this.detail = { ...this.detail, title: payload.title, issue_number: payload.issue_number, mode: payload.mode, seen_run_id: payload.seen_run_id, overrides: { ...this.detail.overrides, model: payload.model ?? undefined } };
    } else if (type === "run.started" && root) {
      this.detail = { ...this.detail, active_run: payload.run_id };
    } else if (type === "run.ended" && root) {
      this.detail = { ...this.detail, active_run: null, last_run: { id: payload.run_id, state: payload.state, reason: payload.reason } };
    }
    this.handlers.onDetail(this.detail);
  }
}
