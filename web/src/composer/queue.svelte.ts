// The messages that wait in the open session.

import { request, type Method, type Page } from "../api.ts";
import { later } from "../later.ts";
import type { Message, OpenedSession, SeenFrame } from "./types.ts";

/** What may change which messages wait. */
const CHANGES = new Set(["message.posted", "message.edited", "message.removed", "session.rolled_back", "session.rollback_undone", "session.state", "run.started", "run.ended", "resync"]);

export class Queue {
  list = $state.raw<Message[]>([]);
  /** The message whose text is being changed. */
  editing = $state<string | null>(null);
  #session: OpenedSession | null = null;
  #again: () => void;

  readonly #onError: (error: unknown) => void;

  constructor(onError: (error: unknown) => void) {
    this.#onError = onError;
    this.#again = later(() => this.read().catch(this.#onError));
  }

  async open(session: OpenedSession | null): Promise<void> {
    this.#session = session;
    this.list = [];
    this.editing = null;
    if (session?.detail?.queued_messages) await this.read();
  }

  frame({ type, agent_path: agent }: SeenFrame): void {
    // A steer enters between two steps.
    const enters = type === "step.started" && this.list.length > 0;
    if ((enters || CHANGES.has(type)) && (agent ?? "primary") === "primary") this.#again();
  }

  async read(): Promise<void> {
    const session = this.#session;
    if (!session) return;
    const { items } = await request<Page<Message>>("GET", `${session.path}/messages?waiting=true&agent_path=primary&limit=100`);
    if (session === this.#session) this.list = items.filter(({ role }) => role === "operator");
  }

  edit(message: Message, content: string): Promise<void> {
    return this.#change("PATCH", message, { content });
  }

  /** The active run reads it at its next step; without one it runs now. */
  sendNow(message: Message): Promise<void> {
    return this.#change("PATCH", message, { mode: "steer" });
  }

  /** It waits for the end of the run. */
  wait(message: Message): Promise<void> {
    return this.#change("PATCH", message, { mode: "queue" });
  }

  remove(message: Message): Promise<void> {
    return this.#change("DELETE", message);
  }

  async #change(method: Method, message: Message, body?: object): Promise<void> {
    try {
      await request(method, `${this.#session?.path}/messages/${message.id}`, body);
    } catch (error) {
      this.#onError(error);
    }
    await this.read().catch(this.#onError);
  }
}
