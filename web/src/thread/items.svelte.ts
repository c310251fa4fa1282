// What stands in a thread, each kind a class: its fields change while the session goes on, and the views follow.

import type { TerminalText } from "./terminal_text.ts";
import type { Tries } from "./tries.svelte.ts";
import type { Interaction, Run, ToolGiven, ToolResult } from "./types.ts";
import type { Thread } from "./thread.svelte.ts";
import { oncePerFrame } from "../dom.ts";

export type CallState = "running" | "waiting" | "done" | "unsuccessful" | "failed";

/** One call of a tool. */
export class Call {
  readonly kind = "call";
  readonly id: string;
  readonly name: string;
  readonly given: any;
  state = $state<CallState>("running");
  outcome = $state("is running");
  result = $state.raw<ToolResult | null>(null);
  /** What it says while it works, as a terminal shows it. */
  live = $state.raw<TerminalText | null>(null);
  answered = $state.raw<Interaction | null>(null);
  /** The thread of the subagent that it started. */
  child = $state.raw<Thread | null>(null);
  open = $state<boolean | null>(null);
  /** What it said while its terminal is being loaded. */
  #early: string | null = null;

  constructor({ id, name, arguments: given }: ToolGiven) {
    this.id = id;
    this.name = name;
    this.given = given;
  }

  /** It started a subagent. */
  begins(thread: Thread): void {
    this.child = thread;
    thread.call = this;
  }

  wait(): void {
    this.#become("waiting", "waits for an answer");
  }

  /** Take what it says while it works. */
  async say(text: string): Promise<void> {
    if (this.result) return;
    if (this.live) return this.live.append(text);
    const loads = this.#early !== null;
    this.#early = (this.#early ?? "") + text;
    if (loads) return;
    const { TerminalText } = await import("./terminal_text.ts");
    const live = new TerminalText();
    live.append(this.#early);
    this.#early = null;
    this.live = live;
  }

  finish(result: ToolResult): void {
    this.result = result;
    const code = result.isError ? 0 : exitCode(result.content);
    if (result.isError) this.#become("failed", "failed");
    else if (code) this.#become("unsuccessful", `ended with exit code ${code}`);
    else this.#become("done", "done");
  }

  /** It will get no result any more. */
  abandon(): void {
    if (this.state === "running") this.#become("failed", "has no result");
  }

  #become(state: CallState, words: string): void {
    this.state = state;
    this.outcome = words;
  }
}

/** A piece of an answer that is written: shown text grows once a frame. */
export class Words {
  readonly kind: "text" | "thinking";
  text = $state("");
  ended = $state(false);
  open = $state(false);
  pending = "";

  constructor(kind: "text" | "thinking") {
    this.kind = kind;
  }

  draw(): void {
    this.text = this.pending;
  }

  end(): void {
    this.draw();
    this.ended = true;
  }
}

export type Part = Call | Words;

/** One answer of a model: thinking, text and calls in their order. `gap` is true when something of it was missed. */
export class Answer {
  readonly kind = "answer";
  readonly id: string;
  readonly runId: string | null;
  readonly agent: string;
  parts = $state<Part[]>([]);
  state = $state<"new" | "streaming" | "done" | "error" | "aborted">("new");
  complete = $state(false);
  model = $state("");
  facts = $state.raw<{ usage?: any; stats?: any; stopReason?: string; errorMessage?: string | null }>({});
  attempt = 0;
  gap = false;
  readonly draw: { (): void; now(): void };
  readonly #onCall: (call: Call) => void;

  constructor(id: string, runId: string | null, agent: string, onCall: (call: Call) => void) {
    this.id = id;
    this.runId = runId;
    this.agent = agent;
    this.#onCall = onCall;
    this.draw = oncePerFrame(() => this.parts.forEach((part) => part instanceof Words && part.draw()));
  }

  get calls(): Call[] {
    return this.parts.filter((part) => part instanceof Call);
  }

  /** Begin (again): an attempt later than the one shown replaces what was streamed of it. */
  start({ attempt = 1, provider, model }: { attempt?: number; provider: string; model: string }): void {
    if (attempt < this.attempt) return;
    this.#attempt(attempt);
    this.gap = false;
    this.state = "streaming";
    this.model = `${provider}:${model}`;
  }

  delta(kind: "text" | "thinking", text: string, attempt: number): void {
    if (this.complete || attempt < this.attempt) return;
    this.#attempt(attempt);
    this.state = "streaming";
    this.#words(kind).pending += text;
    this.draw();
  }

  snapshot({ attempt, text, thinking, tool_calls: calls }: { attempt: number; text: string; thinking: string; tool_calls: ToolGiven[] }): void {
    if (this.complete) return;
    this.parts = [];
    this.attempt = attempt;
    this.gap = false;
    this.state = "streaming";
    if (thinking) this.#words("thinking").pending += thinking;
    if (text) this.#words("text").pending += text;
    for (const call of calls) this.call(call);
    this.draw();
  }

  call(given: ToolGiven): void {
    if ((given.attempt ?? 0) > this.attempt) this.#attempt(given.attempt ?? 0);
    if (this.calls.some((call) => call.id === given.id)) return;
    this.#endLast();
    this.parts.push(new Call(given));
    // The one in the list is what views follow.
    this.#onCall(this.parts.at(-1) as Call);
  }

  /** Become a stored message. */
  stored({ content, details, complete }: { content: string; details: any; complete: boolean }): void {
    this.parts = [];
    const blocks = details.contentBlocks?.length ? details.contentBlocks : [{ type: "text", text: content }];
    for (const block of blocks) {
      if (block.type === "tool_call") this.call({ ...block, arguments: block.raw_arguments ?? block.arguments ?? {} });
      else if (block.text) this.#words(block.type).pending += block.text;
    }
    this.model = details.model ? `${details.provider}:${details.model}` : "";
    this.draw();
    this.draw.now();
    if (complete) this.end(details);
    else this.gap = true;
  }

  end(facts: { usage?: any; stats?: any; stopReason?: string; errorMessage?: string | null }): void {
    this.complete = true;
    this.state = facts.stopReason === "error" || facts.stopReason === "aborted" ? facts.stopReason : "done";
    this.facts = facts;
    for (const part of this.parts) if (part instanceof Words) part.end();
  }

  #attempt(attempt: number): void {
    if (attempt > this.attempt) this.parts = [];
    this.attempt = attempt;
  }

  #words(kind: "text" | "thinking"): Words {
    const last = this.parts.at(-1);
    if (last?.kind === kind) return last as Words;
    this.#endLast();
    this.parts.push(new Words(kind));
    return this.parts.at(-1) as Words;
  }

  #endLast(): void {
    const last = this.parts.at(-1);
    if (last instanceof Words) last.end();
  }
}

/** What a person or the daemon wrote. `queued`: the agent has not read it yet. */
export class Post {
  readonly kind = "post";
  readonly id: string;
  readonly role: string;
  readonly at: string;
  readonly by: string;
  readonly detail: any;
  readonly rest: string | null;
  content = $state("");
  delivery = $state("");
  queued = $state(false);

  constructor(given: { id: string; role: string; content: string; delivery: string; queued: boolean; at: string; by: string; detail: any; rest: string | null }) {
    this.id = given.id;
    this.role = given.role;
    this.at = given.at;
    this.by = given.by;
    this.detail = given.detail;
    this.rest = given.rest;
    this.content = given.content;
    this.delivery = given.delivery;
    this.queued = given.queued;
  }
}

/** How a run ended. */
export class End {
  readonly kind = "end";
  readonly id: string;
  readonly run: EndedRun;
  /** Whether an answer above says the same failure. */
  readonly said: boolean;
  /** Whether it is the newest one, so that it can be tried again. */
  newest = $state(false);

  constructor(run: EndedRun, said: boolean) {
    this.id = run.id;
    this.run = run;
    this.said = said;
  }
}

export type EndedRun = Pick<Run, "id" | "state" | "reason" | "error" | "usage" | "cost_usd" | "total_cost_usd"> & { steps: number; took: number | null };

/** A line that the daemon says about the session. */
export class Note {
  readonly kind = "note";
  readonly id: string;
  readonly text: string;
  /** The run that is near a limit, of a note that says so. */
  readonly near: string | null;

  constructor(id: string, text: string, near: string | null = null) {
    this.id = id;
    this.text = text;
    this.near = near;
  }
}

/** Messages that were taken out of the conversation, read when somebody unfolds them. */
export class Fold {
  readonly kind = "fold";
  readonly id: string;
  readonly by: string | null;
  readonly count: number;
  open = $state(false);
  thread = $state.raw<Thread | null>(null);

  constructor(by: string | null, count: number, position: number) {
    this.id = `${by ?? "removed"}-${position}`;
    this.by = by;
    this.count = count;
  }
}

export type Item = Answer | Post | End | Note | Tries | Fold;

/** Return the exit code of a command's result: the call succeeded, but its command may have failed. */
function exitCode(content: string): number {
  const line = (content ?? "").split("\n", 1)[0] ?? "";
  if (!line.startsWith("{")) return 0;
  try {
    const code: unknown = JSON.parse(line).exit_code;
    return Number.isInteger(code) ? (code as number) : 0;
  } catch {
    return 0;
  }
}
