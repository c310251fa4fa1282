// The open questions of the session on the page, above the message field, and for a while what became of those that were
// answered. Their cards are loaded with the first question.

import { flushSync, mount } from "svelte";
import { allItems, request } from "../api.ts";
import { byId } from "../dom.ts";
import { lazily } from "../lazy.ts";
import { Stillness } from "./stillness.ts";
import type { Interaction } from "./types.ts";

const SHOWN_ANSWERS = 200;
const OPENED = new Set(["permission.requested", "interaction.requested"]);
const CLOSED = new Set(["permission.answered", "interaction.answered"]);

interface Session {
  id: string;
  path: string;
}

interface Handlers {
  onError(error: unknown): void;
  /** Another number of questions is open. */
  onChange(): void;
  /** Each open question, and each that is not open any more, for the place where it was asked. */
  onOpen(question: Interaction): void;
  onClosed(question: Interaction): void;
}

interface Frame {
  type: string;
  ts: string;
  payload: any;
  agent_path?: string;
  run_id?: string;
}

export class Questions {
  readonly root = byId("questions");
  readonly #handlers: Handlers;
  #session: Session | null = null;
  readonly still = new Stillness(() => this.#show(this.#list.filter(({ id }) => !this.#closed.has(id))), () => this.count === 0);
  /** What is open, and what was answered and still has its place. */
  #list = $state.raw<Interaction[]>([]);
  /** A list that was asked for earlier may still name what has been answered since. */
  #closed = new Set<string>();
  /** What became of those that still have their place. */
  #receipts = $state.raw<ReadonlyMap<string, Interaction>>(new Map());
  #cards: Promise<void> | null = null;

  constructor(handlers: Handlers) {
    this.#handlers = handlers;
  }

  get list(): Interaction[] {
    return this.#list;
  }

  /** How many are open. */
  get count(): number {
    return this.#list.filter(({ id }) => !this.#closed.has(id)).length;
  }

  /** What became of a question that still has its place; null when it is open. */
  receipt(id: string): Interaction | null {
    return this.#receipts.get(id) ?? null;
  }

  /** Show the open questions of this session from now on; null shows none. */
  async open(session: Session | null): Promise<void> {
    this.#session = session;
    this.still.forget();
    this.#receipts = new Map();
    this.#show([]);
    if (session) await this.refresh();
  }

  /** Read what is open and what was answered; what was shown and is not open any more goes. */
  async refresh(): Promise<void> {
    const session = this.#session;
    if (!session) return;
    const path = `${session.path}/interactions`;
    const newest = await allItems<Interaction>(path, { limit: SHOWN_ANSWERS });
    // Where the list goes on, what is open may be further down.
    const open = newest.length < SHOWN_ANSWERS ? newest.filter((question) => question.state === "pending") : await allItems<Interaction>(`${path}?state=pending`);
    if (session !== this.#session) return;
    const ids = new Set(open.map((question) => question.id));
    const closed = new Set(newest.filter((question) => question.state !== "pending").map(({ id }) => id));
    for (const { id } of this.#list) if (!ids.has(id) && !closed.has(id)) this.#drop(id);
    for (const question of newest) if (closed.has(question.id)) this.#close(question);
    for (const question of open.reverse()) this.#add(question);
  }

  frame({ type, ts, payload, agent_path: agentPath, run_id: runId }: Frame): void {
    if (CLOSED.has(type)) {
      const { interaction_id: id } = payload;
      this.#closed.add(id);
      this.#handlers.onChange();
      this.#read(id, (question) => this.#close(question)).catch((error: unknown) => {
        this.#drop(id);
        this.#handlers.onError(error);
      });
    } else if (OPENED.has(type)) {
      const { interaction_id: id, tool_call_id: callId, request_ref: elsewhere } = payload;
      const permission = type === "permission.requested";
      const asked: Interaction = {
        id,
        session_id: this.#session?.id ?? "",
        run_id: runId ?? null,
        tool_call_id: callId ?? null,
        agent_path: agentPath ?? "primary",
        kind: permission ? "permission" : payload.kind,
        state: "pending",
        request: permission ? payload : payload.request,
        answer: null,
        answered_by: null,
        created_at: ts,
        closed_at: null,
      };
      if (!permission && !elsewhere) return this.#add(asked);
      // What the call would do is not told with it.
      this.#read(id, (question) => question.state === "pending" && this.#add(question)).catch((error: unknown) => (elsewhere ? this.#handlers.onError(error) : this.#add(asked)));
    }
  }

  /** A question was answered on its card, or was found not to be open any more. */
  done(question: Interaction): void {
    if (question.session_id === this.#session?.id) this.#close(question, true);
  }

  /** Read a question. Throws `ApiError`. */
  async #read(id: string, then: (question: Interaction) => void): Promise<void> {
    const session = this.#session;
    const question: Interaction = await request("GET", `${session?.path}/interactions/${encodeURIComponent(id)}`);
    if (session === this.#session) then(question);
  }

  #add(question: Interaction): void {
    if (this.#closed.has(question.id)) return;
    this.#handlers.onOpen(question);
    if (this.#list.some((known) => known.id === question.id)) return;
    this.#show([...this.#list, question]);
    this.#load();
  }

  /** A question is not open any more. Its card folds in its place when it was `own`, or while somebody is at the cards. */
  #close(question: Interaction, own = false): void {
    this.#closed.add(question.id);
    this.#handlers.onClosed(question);
    if (!this.#list.some(({ id }) => id === question.id)) return;
    const busy = this.root.querySelector(`[data-question-id="${question.id}"][aria-busy=true]`);
    if (!own && !busy && !this.still.used && !this.#receipts.has(question.id)) return this.#drop(question.id);
    this.#receipts = new Map(this.#receipts).set(question.id, question);
    this.still.keep();
    this.#handlers.onChange();
  }

  #drop(id: string): void {
    this.#closed.add(id);
    if (this.#list.some((question) => question.id === id)) this.#show(this.#list.filter((question) => question.id !== id));
  }

  #show(list: Interaction[]): void {
    const focused = document.activeElement;
    const inside = focused !== this.root && this.root.contains(focused);
    this.#list = list;
    flushSync();
    // The keyboard goes on where the questions are, and on none of them: the next key was not meant for the next card.
    if (inside && !focused?.isConnected) this.root.focus({ preventScroll: true });
    this.#handlers.onChange();
  }

  /** Load the cards, once. A later question tries again. */
  #load(): void {
    this.#cards ??= lazily(() => import("./QuestionList.svelte")).then(
      ({ default: QuestionList }: typeof import("./QuestionList.svelte")) => {
        mount(QuestionList, { target: this.root, props: { questions: this } });
      },
      (error: unknown) => {
        this.#cards = null;
        this.#handlers.onError(error);
      },
    );
  }
}
