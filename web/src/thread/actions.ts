// What somebody can do in the thread, as requests.

import { to } from "../routes.ts";
import { inAddress } from "../workspace/names.ts";
import { address, allItems, create, request, type Page, type Schemas } from "../api.ts";
import type { OpenSession } from "./open_session.ts";
import type { Actions, Change, Message, StagedFiles } from "./types.ts";

/** How many milliseconds the agents are not read again: many cards come at once. */
const AGENTS_STAY = 10_000;
const REVERTS = 100;

interface Given {
  session(): OpenSession | null;
  /** A fork was made: `made` is the new session. */
  onFork(made: { id: string }): void;
  onQuote(text: string): void;
  onError(error: unknown): void;
}

export class SessionActions implements Actions {
  readonly #given: Given;
  #agents: { of: OpenSession; until: number; read: Promise<Schemas["SessionAgent"][]> } | null = null;

  constructor(given: Given) {
    this.#given = given;
  }

  async rewind(id: string, more: { files?: boolean; plan?: string }): Promise<void> {
    await request("POST", `${this.#path}/rollback`, { message_id: id, ...more });
    await this.#session.refresh();
  }

  preview(id: string): Promise<StagedFiles> {
    return request("POST", `${this.#path}/rollback`, { message_id: id, files: true, stage: true });
  }

  async restore(rollback: string): Promise<void> {
    await request("POST", `${this.#path}/rollbacks/${encodeURIComponent(rollback)}/undo`, {});
    await this.#session.refresh();
  }

  async fork(id: string): Promise<void> {
    this.#given.onFork(await create(`${this.#path}/fork`, { message_id: id }));
  }

  /** Put another message in the place of one: what follows it leaves the conversation. */
  async resend(id: string, text: string): Promise<void> {
    const path = this.#path;
    await request("POST", `${path}/rollback`, { message_id: id, before: true });
    await create(`${path}/messages`, { content: text });
  }

  async retry(run: string, model: string | null): Promise<void> {
    await create(`/runs/${encodeURIComponent(run)}/retry`, model ? { model } : {});
  }

  async stop(run: string): Promise<void> {
    await request("POST", `/runs/${encodeURIComponent(run)}/cancel`);
  }

  async change(path: string): Promise<Change | null> {
    try {
      return await request("GET", `${this.#path}/changes/${inAddress(path)}`);
    } catch (error) {
      if ((error as { code?: string }).code === "not_found") return null;
      throw error;
    }
  }

  revert({ path, digest }: Change): Promise<{ id: string }> {
    return request("POST", `${this.#path}/reverts`, { path, digest });
  }

  async reverts(): Promise<Schemas["RevertAnswer"][]> {
    return (await request<Page<Schemas["RevertAnswer"]>>("GET", address(`${this.#path}/reverts`, { limit: REVERTS }))).items;
  }

  async undo(revert: string): Promise<void> {
    await request("POST", `${this.#path}/reverts/${encodeURIComponent(revert)}/undo`);
  }

  async superseded(by: string | null): Promise<Message[]> {
    const which = by ? { superseded_by: by } : { include_superseded: true };
    const messages: Message[] = await allItems(address(`${this.#path}/messages`, { ...which, agent_path: "primary" }));
    return messages.filter((message) => message.superseded && message.superseded_by === by);
  }

  messagesOf(run: string): Promise<Message[]> {
    return allItems(`${this.#path}/messages?run_id=${encodeURIComponent(run)}`);
  }

  quote(text: string): void {
    this.#given.onQuote(text);
  }

  open(what: "changes" | "files", path = ""): void {
    location.hash = to.place(this.#session.id, what, path.replace(/^\.\//, ""));
  }

  lineOf(path: string, line: number): string {
    return to.place(this.#session.id, "files", path, line);
  }

  address(id: string): string {
    return new URL(`#${this.#session.id}/${id}`, location.href).href;
  }

  seen(run: string): void {
    const session = this.#given.session();
    // The run of a message that is older was seen, or nobody waits for it any more.
    if (!session || session.detail?.last_run?.id !== run || session.detail.seen_run_id === run) return;
    session.detail = { ...session.detail, seen_run_id: run };
    // Told again when it comes into view again.
    request("PATCH", session.path, { seen_run_id: run }).catch(() => session.detail && (session.detail = { ...session.detail, seen_run_id: null }));
  }

  warned(run: string | null): void {
    // It stays in the inbox otherwise.
    if (run) request("POST", `/runs/${encodeURIComponent(run)}/see-warnings`).catch(() => undefined);
  }

  async agent(path: string): Promise<Schemas["SessionAgent"] | null> {
    const session = this.#session;
    // A project that is not loaded or trusted has none, and its session is read without.
    if (this.#agents?.of !== session || this.#agents.until < Date.now()) this.#agents = { of: session, until: Date.now() + AGENTS_STAY, read: allItems<Schemas["SessionAgent"]>(`${session.path}/agents`).catch(() => []) };
    return (await this.#agents.read).find((one) => one.path === path) ?? null;
  }

  failed(error: unknown): void {
    this.#given.onError(error);
  }

  get #session(): OpenSession {
    const session = this.#given.session();
    if (!session) throw new Error("no session is open");
    return session;
  }

  get #path(): string {
    return this.#session.path;
  }
}
