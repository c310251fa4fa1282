// What the page knows of one session: stored messages and live frames become the same items. Frames are taken in the
// order of `seq`; one that comes twice changes nothing.

import { InFlight } from "./in_flight.ts";
import { Answer, End, Fold, Note, Post, type Call, type Item } from "./items.svelte.ts";
import { Thread } from "./thread.svelte.ts";
import { noteOf } from "./notes.ts";
import { tried } from "./tries.svelte.ts";
import { isDurable, type Actions, type Frame, type Interaction, type Message, type Run, type Superseded, type ToolResult } from "./types.ts";

const ROOT = "primary";

/** The end of a stored conversation, and the answers after it that are not stored yet. `more`: older messages can be
 * read. */
export interface Stored {
  messages: Message[];
  runs: Run[];
  superseded: Superseded[];
  more: boolean;
  seq: number;
  inFlight: InFlight;
}

export class SessionStore {
  readonly root = new Thread(ROOT, null);
  readonly actions: Actions;
  waiting = $state<Post[]>([]);
  /** The item that the address names. */
  marked = $state<string | null>(null);
  /** Counts what tells that files have changed. */
  filesChanged = $state(0);
  readonly #onGap: () => void;
  #seq = 0;
  #answers = new Map<string, Answer>();
  #posts = new Map<string, Post>();
  #calls = new Map<string, Call>();
  /** Results whose calls are on an older page, and subagents and questions whose calls are. */
  #results = new Map<string, ToolResult>();
  #children = new Map<string, Thread>();
  #asked = new Map<string, Interaction>();
  #threads = new Map<string, Thread>();
  #newest = new Map<string, Thread>();
  #runs = new Map<string, Run>();
  #ended = new Set<string>();
  #folds: Superseded[] = [];
  #unsettled = new Set<Answer>();
  #held = new Map<string, Frame[]>();
  #inFlight = new InFlight();
  #failure: string | null = null;
  #end: End | null = null;

  /** `onGap()` is called when an answer has ended of which something was missed. */
  constructor({ actions, onGap }: { actions: Actions; onGap: () => void }) {
    this.actions = actions;
    this.#onGap = onGap;
  }

  get empty(): boolean {
    return this.root.empty && this.waiting.length === 0;
  }

  /** The threads of all agents. */
  *threads(): Generator<Thread> {
    yield this.root;
    yield* this.#threads.values();
  }

  load({ messages, runs, superseded, more, seq, inFlight }: Stored): void {
    this.#seq = seq;
    this.#inFlight = inFlight;
    this.#folds = superseded;
    this.know(runs);
    for (const item of this.#items(messages, more)) this.root.append(item);
    this.root.more = more;
    const newest = runs.find((run) => run.parent_run_id === null);
    if (this.#end && this.#end.id === newest?.id) this.#end.newest = true;
    for (const frame of inFlight.of()) this.#apply(frame);
  }

  /** Take older messages, oldest first. */
  older(messages: Message[], more: boolean): void {
    const last = this.#end;
    this.root.prepend(this.#items(messages, more, true));
    this.#end = last ?? this.#end;
    this.root.more = more;
  }

  knows(runId: string): boolean {
    return this.#runs.has(runId);
  }

  /** Take runs: how they ended, and the threads of subagents. */
  know(runs: Run[]): void {
    for (const run of [...runs].reverse()) {
      this.#runs.set(run.id, run);
      if (run.parent_run_id === null || run.parent_run_id === undefined) continue;
      const thread = this.#threads.get(run.id) ?? this.#subagent(run.id, run.agent_path, run.parent_run_id, run.parent_call_id ?? null);
      thread.run = run;
    }
  }

  /** Return the thread of a subagent's run, as far as that is known. */
  threadOf(runId: string): Thread | undefined {
    return this.#threads.get(runId);
  }

  /** Unfold the thread of a subagent. */
  async openThread(thread: Thread): Promise<void> {
    thread.open = true;
    if (!(await this.readThread(thread))) thread.open = false;
  }

  /** Read the messages of a subagent, once. Returns whether that went well. */
  async readThread(thread: Thread): Promise<boolean> {
    if (thread.loaded || thread.runId === null || this.#held.has(thread.runId)) return true;
    this.#held.set(thread.runId, this.#inFlight.of(thread.runId));
    try {
      const messages = await this.actions.messagesOf(thread.runId);
      for (const message of messages) this.#store(message, (item) => thread.append(item));
      thread.loaded = true;
    } catch (error) {
      this.actions.failed(error);
    }
    const held = this.#held.get(thread.runId) ?? [];
    this.#held.delete(thread.runId);
    if (thread.loaded) for (const frame of held) this.#apply(frame);
    return thread.loaded;
  }

  /** Read what was taken out, when its fold is opened. */
  async openFold(fold: Fold): Promise<void> {
    fold.open = true;
    if (fold.thread) return;
    try {
      const messages = await this.actions.superseded(fold.by);
      const thread = new Thread("", null);
      // Its messages are read only: they have no part in what goes on.
      const apart = new SessionStore({ actions: this.actions, onGap: () => undefined });
      for (const message of messages) apart.#store(message, (item) => thread.append(item));
      for (const call of apart.#calls.values()) call.abandon();
      thread.loaded = true;
      fold.thread = thread;
    } catch (error) {
      fold.open = false;
      this.actions.failed(error);
    }
  }

  /** A call waits for a person; its run may end meanwhile. */
  asks({ run_id: runId, tool_call_id: callId }: Pick<Interaction, "run_id" | "tool_call_id">): void {
    this.#call(runId, callId)?.wait();
  }

  /** A question was answered, or is not open any more: show what became of it at its call. */
  answered(question: Interaction): void {
    if (question.kind === "permission" && question.state !== "answered") return;
    const call = this.#call(question.run_id, question.tool_call_id);
    if (call) call.answered = question;
    else this.#asked.set(callKey(question.run_id, question.tool_call_id), question);
  }

  /** The connection was away: whatever is being streamed may have lost something. */
  interrupted(): void {
    for (const answer of this.#answers.values()) if (!answer.complete) answer.gap = true;
    this.filesChanged += 1;
  }

  frame(frame: Frame): void {
    this.#inFlight.take(frame);
    if (frame.seq !== null && frame.seq !== undefined) {
      if (isDurable(frame) && frame.seq <= this.#seq) return;
      this.#seq = Math.max(this.#seq, frame.seq);
    }
    this.#apply(frame);
  }

  #apply(frame: Frame): void {
    const { type, payload, run_id: runId = null, agent_path: agent = ROOT } = frame;
    if (type === "changes.updated") this.filesChanged += 1;
    const thread = this.#threadOf(frame);
    const held = runId === null ? undefined : this.#held.get(runId);
    if (thread !== this.root && type === "run.ended") thread.run = { ...thread.run, ...payload, ended_at: frame.ts };
    if (held) {
      held.push(frame);
      return;
    }
    // The messages of a subagent are read when its thread is opened.
    if (thread !== this.root && !thread.loaded) return;
    const root = thread === this.root;
    if (tried(frame, thread)) return;
    const answer = (inTheMiddle = true) => this.#answer(payload.messageId, runId, agent, (item) => thread.append(item), inTheMiddle);
    switch (type) {
      case "message.posted":
        return this.#posted({ id: payload.message_id, at: frame.ts, by: payload.created_by ?? "", detail: {}, rest: payload.content_ref ?? null, role: payload.role, content: payload.content, delivery: payload.delivery, queued: payload.queued }, (item) => thread.append(item));
      case "message.edited":
        return this.#edited(payload.message_id, payload.content);
      case "message.removed":
        return this.#removed(payload.message_id);
      case "message.start": {
        const made = answer(false);
        return made.complete ? undefined : made.start(payload);
      }
      case "message.delta":
        return answer().delta(payload.kind, payload.delta, payload.attempt);
      case "message.snapshot":
        return answer().snapshot(payload);
      case "message.tool_call": {
        const made = answer();
        return !made.complete && payload.attempt >= made.attempt ? made.call(payload) : undefined;
      }
      case "message.tool_result":
        return this.#call(runId, payload.toolCallId)?.finish({ ...payload, at: frame.ts });
      case "tool.progress":
        return void this.#calls.get(callKey(runId, payload.tool_call_id))?.say(payload.text);
      case "message.end":
        return this.#answerEnded(answer(), payload);
      case "run.started":
        return root ? this.#runStarted(payload) : undefined;
      case "step.started":
        // A steer enters between two steps, never before the first one.
        return payload.step > 1 && root ? this.#deliver((post) => post.delivery === "steer") : undefined;
      case "run.ended":
        return this.#runEnded(payload, thread);
      default: {
        const note = noteOf(frame);
        if (note) thread.append(new Note(`${type}-${frame.seq ?? frame.ts}`, note, type === "budget.warning" ? runId : null));
      }
    }
  }

  /** Return the call. The result of one that waited may come in a later run than the call. */
  #call(runId: string | null | undefined, callId: string | null | undefined): Call | undefined {
    const waits = () => [...this.#calls.values()].findLast((call) => call.id === callId && call.state === "waiting");
    return this.#calls.get(callKey(runId, callId)) ?? waits();
  }

  #threadOf({ run_id: runId, agent_path: agent = ROOT, parent_tool_call_id: callId, type, payload }: Frame): Thread {
    if (!runId || agent === ROOT) return this.root;
    const known = this.#threads.get(runId);
    if (known) return known;
    const above = this.#newest.get(agent.slice(0, agent.lastIndexOf(".subagents.")));
    const parent = type === "run.started" ? payload.parent_run_id : (above?.runId ?? null);
    const thread = this.#subagent(runId, agent, parent, callId ?? null);
    thread.run = { id: runId, state: "running" };
    thread.loaded = type === "run.started";
    return thread;
  }

  #subagent(runId: string, agent: string, parent: string | null, callId: string | null): Thread {
    const thread = new Thread(agent, runId);
    this.#threads.set(runId, thread);
    this.#newest.set(agent, thread);
    const call = this.#call(parent, callId);
    if (call) call.begins(thread);
    else this.#children.set(callKey(parent, callId), thread);
    return thread;
  }

  #posted(given: ConstructorParameters<typeof Post>[0], put: (item: Item) => void): void {
    const known = this.#posts.get(given.id);
    if (known) {
      if (!given.queued) this.#deliver((post) => post === known);
      return;
    }
    const post = new Post(given);
    this.#posts.set(post.id, post);
    if (post.queued) this.waiting.push(post);
    else put(post);
  }

  #edited(id: string, content: string | undefined): void {
    const post = this.#posts.get(id);
    if (post && typeof content === "string") post.content = content;
    else this.#onGap();
  }

  #removed(id: string): void {
    this.waiting = this.waiting.filter((post) => post.id !== id);
  }

  /** Return the answer, made when it is new; one that begins in its middle has a gap. */
  #answer(id: string, runId: string | null, agent: string, put: (item: Item) => void, inTheMiddle = false): Answer {
    let answer = this.#answers.get(id);
    if (answer) return answer;
    answer = new Answer(id, runId, agent, (call) => this.#called(callKey(runId, call.id), call));
    answer.gap = inTheMiddle;
    this.#answers.set(id, answer);
    this.#unsettled.add(answer);
    put(answer);
    return answer;
  }

  #called(key: string, call: Call): void {
    this.#calls.set(key, call);
    const [result, child, asked] = [this.#results.get(key), this.#children.get(key), this.#asked.get(key)];
    if (result) call.finish(result);
    if (child) call.begins(child);
    if (asked) call.answered = asked;
    for (const known of [this.#results, this.#children, this.#asked]) known.delete(key);
  }

  #answerEnded(answer: Answer, payload: any): void {
    if (answer.complete) return;
    answer.end(payload);
    if (answer.agent === ROOT) this.#failure = payload.errorMessage ?? null;
    if (answer.gap) this.#onGap();
  }

  #runStarted({ trigger_message_id: id }: { trigger_message_id: string | null }): void {
    if (this.#end) this.#end.newest = false;
    this.#failure = null;
    const trigger = id ? this.#posts.get(id) : undefined;
    if (!trigger) return;
    this.#deliver((post) => post.delivery === "held" || post === trigger);
  }

  /** Move the waiting messages that `chosen` picks into the conversation. */
  #deliver(chosen: (post: Post) => boolean): void {
    for (const post of this.waiting.filter(chosen)) {
      post.queued = false;
      this.root.append(post);
    }
    this.waiting = this.waiting.filter((post) => post.queued);
  }

  #runEnded(payload: any, thread: Thread): void {
    const { run_id: id, state } = payload;
    if (this.#ended.has(id)) return;
    const root = thread === this.root;
    if (state === "cancelled" && root) for (const post of this.waiting) post.delivery = "held";
    const end = this.#settle({ ...payload, id, took: payload.duration_ms ?? null }, root);
    if (root) {
      end.newest = true;
      this.#end = end;
    }
    thread.append(end);
  }

  /** Return how a run ended; its calls get no results any more. */
  #settle(run: End["run"], root: boolean): End {
    this.#ended.add(run.id);
    for (const answer of this.#unsettled) {
      if (!answer.complete || (answer.runId !== run.id && !(root && answer.agent === ROOT))) continue;
      answer.calls.forEach((call) => call.abandon());
      this.#unsettled.delete(answer);
    }
    return new End(run, this.#failure !== null && this.#failure === run.error?.["message"]);
  }

  /** Return stored messages as items: with the ends of their runs, and folds for what was taken out between them. */
  #items(messages: Message[], more: boolean, older = false): Item[] {
    const items: Item[] = [];
    const put = (item: Item) => void items.push(item);
    const last = new Map(messages.map((message) => [message.run_id, message.id]));
    const placed = messages.filter((message) => message.position !== null);
    const first = placed[0]?.position ?? 0;
    for (const message of messages) {
      if (message.position !== null && (!more || message.position !== first)) this.#fold(message.position, more ? first : -1, put);
      this.#store(message, put);
      const run = this.#runs.get(message.run_id ?? "");
      if (!run || run.ended_at === null || this.#ended.has(run.id) || last.get(run.id) !== message.id) continue;
      this.#failure = message.role === "primary" ? ((message.details["errorMessage"] as string | undefined) ?? null) : null;
      const end = this.#settle({ ...run, steps: run.step_count, took: lasted(run) }, !older);
      this.#end = end;
      put(end);
    }
    this.#fold(Infinity, more ? first : -1, put);
    return items;
  }

  #fold(before: number, after: number, put: (item: Item) => void): void {
    const here = this.#folds.filter(({ position }) => position < before && position > after);
    for (const { by, messages, position } of here) put(new Fold(by, messages, position));
    this.#folds = this.#folds.filter((fold) => !here.includes(fold));
  }

  #store(message: Message, put: (item: Item) => void): void {
    const { id, run_id: runId, role, content, details, complete } = message;
    if (role === "tool") {
      const { toolCallId, isError, metadata, wrote } = details as any;
      const result = { content, isError, durationMs: metadata?.duration_ms, metadata, wrote, at: message.created_at };
      const call = this.#call(runId, toolCallId);
      if (call) call.finish(result);
      else this.#results.set(callKey(runId, toolCallId), result);
    } else if (role === "primary" || role === "subagent") {
      this.#answer(id, runId, message.agent_path, put).stored({ content, details, complete });
    } else {
      const by = (details["createdBy"] as string | undefined) ?? "";
      this.#posted({ id, role, content, delivery: message.delivery, queued: message.position === null, at: message.created_at, by, detail: details, rest: null }, put);
    }
  }
}

/** Calls have names that are unique within a run only. */
function callKey(runId: string | null | undefined, callId: string | null | undefined): string {
  return `${runId} ${callId}`;
}

function lasted(run: Run): number | null {
  return run.started_at === null || run.ended_at === null ? null : Date.parse(run.ended_at) - Date.parse(run.started_at);
}
