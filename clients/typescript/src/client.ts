/** The client: typed calls, streams, and a message followed to the end of its run. */

import { AnswerNeeded, KagedError } from "./errors.js";
import { follow, type Connection, type FollowOptions, type KagedEvent } from "./follow.js";
import type { components, paths } from "./generated/routes.js";
import { Http, type AnswerOf, type Arguments, type CallOptions, type HttpOptions, type Method, type OptionsOf, type PathsOf } from "./http.js";
import { asked, Progress } from "./progress.js";

export type Schemas = components["schemas"];
export type Question = Schemas["InteractionAnswer"];
/** The body of an answer, as docs/interactions.md has it: `{ answer: "once" }`, `{ answers: ... }`, `{ values: ... }`. */
export type Answer = Schemas["AnswerInteraction"];

export interface KagedOptions extends HttpOptions {
  /** For runtimes without a global one, as Node before 22. */
  WebSocket?: typeof globalThis.WebSocket | undefined;
}

export interface RunOptions extends Pick<CallOptions, "signal" | "idempotencyKey"> {
  model?: string | undefined;
  mode?: "queue" | "steer" | "reject" | undefined;
  /** Returns the answer, or null to leave the question to somebody else. */
  onQuestion?: ((question: Question) => Answer | null | Promise<Answer | null>) | undefined;
  onEvent?: ((event: KagedEvent) => void | Promise<void>) | undefined;
}

export interface RunResult {
  /** The last answer of the root agent. */
  text: string;
  /** State and reason, steps, tool calls, usage and cost. */
  run: Schemas["RunDetail"];
}

type ItemOf<A> = A extends { items: (infer I)[]; next_cursor?: unknown } ? I : never;
/** The routes that answer with a page of a list. */
export type ListPaths = { [P in PathsOf<"get">]: [ItemOf<AnswerOf<P, "get">>] extends [never] ? never : P }[PathsOf<"get">];

export function createKaged(options: KagedOptions): Kaged {
  return new Kaged(options);
}

export class Kaged {
  readonly #http: Http;
  readonly #socket: typeof globalThis.WebSocket | undefined;

  constructor(options: KagedOptions) {
    this.#http = new Http(options);
    this.#socket = options.WebSocket;
  }

  get<P extends PathsOf<"get">>(path: P, ...[options]: Arguments<OptionsOf<P, "get">>): Promise<AnswerOf<P, "get">> {
    return this.#call("get", path, options);
  }

  post<P extends PathsOf<"post">>(path: P, ...[options]: Arguments<OptionsOf<P, "post">>): Promise<AnswerOf<P, "post">> {
    return this.#call("post", path, options);
  }

  put<P extends PathsOf<"put">>(path: P, ...[options]: Arguments<OptionsOf<P, "put">>): Promise<AnswerOf<P, "put">> {
    return this.#call("put", path, options);
  }

  patch<P extends PathsOf<"patch">>(path: P, ...[options]: Arguments<OptionsOf<P, "patch">>): Promise<AnswerOf<P, "patch">> {
    return this.#call("patch", path, options);
  }

  delete<P extends PathsOf<"delete">>(path: P, ...[options]: Arguments<OptionsOf<P, "delete">>): Promise<AnswerOf<P, "delete">> {
    return this.#call("delete", path, options);
  }

  /** As `get`, and return the response itself: for files and exports. */
  open<P extends PathsOf<"get">>(path: P, ...[options]: Arguments<OptionsOf<P, "get">>): Promise<Response> {
    return this.#http.open("get", path, options);
  }

  /** Yield the items of a list, page after page. */
  async *list<P extends ListPaths>(path: P, ...[options]: Arguments<OptionsOf<P, "get">>): AsyncGenerator<ItemOf<AnswerOf<P, "get">>> {
    type Page = { items: ItemOf<AnswerOf<P, "get">>[]; next_cursor?: string | null };
    let cursor: string | null | undefined;
    do {
      const given = (options ?? {}) as { query?: object };
      const page = (await this.#http.call("get", path, { ...given, query: { limit: 100, ...given.query, ...(cursor ? { cursor } : {}) } })) as Page;
      yield* page.items;
      cursor = page.next_cursor;
    } while (cursor);
  }

  /** Follow a session from an event on, without end: each durable event once and in order, also over a lost
   * connection and a restart of the daemon. */
  follow(sessionId: string, { after = 0, snapshots, signal }: FollowOptions = {}): AsyncGenerator<KagedEvent, void, undefined> {
    return this.#follow(`/api/v1/sessions/${encodeURIComponent(sessionId)}/ws`, { after, snapshots, signal });
  }

  /** Follow the state changes of all sessions. This stream has no memory: what happened while it was away is not in it. */
  followAll({ signal }: Pick<FollowOptions, "signal"> = {}): AsyncGenerator<KagedEvent, void, undefined> {
    return this.#follow("/api/v1/ws", { after: null, signal });
  }

  /** Post a message and follow the run that answers it to its end, over its questions. Aborting leaves the run running.
   * Throws `AnswerNeeded` at a question without `onQuestion`; at one that is open already, before it posts. */
  async run(sessionId: string, content: string, options: RunOptions = {}): Promise<RunResult> {
    const { signal, model, mode, onEvent } = options;
    const path = { session_id: sessionId };
    const before = await this.get("/api/v1/sessions/{session_id}", { path, signal });
    // Questions that were open before come in no event, and a session that one of them paused takes no message (409).
    const open = before.pending_interactions > 0 ? await this.#openQuestions(sessionId, signal) : [];
    for (const question of open) await this.#reply(sessionId, question, options);
    const posted = await this.post("/api/v1/sessions/{session_id}/messages", {
      path,
      body: { content, ...(model === undefined ? {} : { model }), ...(mode === undefined ? {} : { mode }) },
      signal,
      idempotencyKey: options.idempotencyKey,
    });
    const progress = new Progress(posted.message.id, posted.run?.id ?? null, mode === "steer" && posted.queued);
    for await (const event of this.follow(sessionId, { after: before.last_seq, signal })) {
      await onEvent?.(event);
      const question = asked(event);
      if (question !== null) await this.#reply(sessionId, question, options);
      const next = progress.take(event);
      if (next === "finish") break;
      if (next === "look" && (await this.#settled(sessionId, progress, options))) break;
    }
    signal?.throwIfAborted();
    return this.#result(sessionId, progress.runId ?? "", signal);
  }

  async #openQuestions(sessionId: string, signal: AbortSignal | undefined): Promise<string[]> {
    const query = { state: "pending" as const };
    const found: string[] = [];
    const questions = this.list("/api/v1/sessions/{session_id}/interactions", { path: { session_id: sessionId }, query, signal });
    for await (const question of questions) found.push(question.id);
    return found;
  }

  async #settled(sessionId: string, progress: Progress, { signal }: RunOptions): Promise<boolean> {
    const path = { session_id: sessionId };
    const session = await this.get("/api/v1/sessions/{session_id}", { path, signal });
    if (progress.runId === null && session.queued_messages === 0 && session.state !== "running") {
      throw new KagedError(0, { code: "message_removed", message: `The message ${progress.messageId} was removed before it was run.` });
    }
    return progress.settled(session);
  }

  async #reply(sessionId: string, interactionId: string, { onQuestion, signal }: RunOptions): Promise<void> {
    const path = { session_id: sessionId, interaction_id: interactionId };
    const question = await this.get("/api/v1/sessions/{session_id}/interactions/{interaction_id}", { path, signal });
    if (question.state !== "pending") return;
    if (!onQuestion) throw new AnswerNeeded(interactionId);
    const body = await onQuestion(question);
    if (body === null) return;
    try {
      await this.post("/api/v1/sessions/{session_id}/interactions/{interaction_id}/answer", { path, body, signal });
    } catch (error) {
      // Somebody else was quicker: the first answer counts.
      if (!(error instanceof KagedError && error.reason === "already_answered")) throw error;
    }
  }

  async #result(sessionId: string, runId: string, signal: AbortSignal | undefined): Promise<RunResult> {
    const run = await this.get("/api/v1/runs/{run_id}", { path: { run_id: runId }, signal });
    const query = { run_id: runId, agent_path: "primary" };
    let text = "";
    for await (const message of this.list("/api/v1/sessions/{session_id}/messages", { path: { session_id: sessionId }, query, signal })) {
      if (message.role === "primary" && message.content) text = message.content;
    }
    return { text, run };
  }

  #follow(path: string, options: Pick<Connection, "after" | "snapshots" | "signal">): AsyncGenerator<KagedEvent, void, undefined> {
    // http becomes ws, https becomes wss.
    const address = `ws${this.#http.baseUrl.slice("http".length)}${path}`;
    return follow({ address, protocols: this.#http.protocols, WebSocket: this.#socket, ...options });
  }

  #call<P extends keyof paths, M extends Method>(method: M, path: P, options: object | undefined): Promise<AnswerOf<P, M>> {
    return this.#http.call(method, path, options) as Promise<AnswerOf<P, M>>;
  }
}
