// The state of the composer: what is written, for which session, and what it is waiting for.

import { create, request } from "../api.ts";
import { to } from "../routes.ts";
import { Attachments } from "./attachments.svelte.ts";
import { Drafts } from "./drafts.ts";
import { Queue } from "./queue.svelte.ts";
import { situationOf } from "./situation.ts";
import type { AskAttempts, Detail, OpenedSession, Posted, SeenFrame } from "./types.ts";

export interface Handlers {
  onError(error: unknown): void;
  onSent(): void;
  /** A session was removed. */
  onGone(id: string): void;
}

/** A message of the conversation that is written anew: sending it rewinds to before it. */
export interface Rewriting {
  id: string;
  /** The draft that comes back when it is given up. */
  draft: string;
}

export type Popup = "model" | "mode" | "start" | "context" | null;
export type Action = "cancel" | "pause" | "resume" | "continue";

const ONLY_IMAGES = "See what is attached.";

export class ComposerState {
  session = $state.raw<OpenedSession | null>(null);
  detail = $state.raw<Detail | null>(null);
  text = $state("");
  busy = $state(false);
  /** What a message does while a run is active. */
  turn = $state<"steer" | "queue">("steer");
  attachments = $state.raw<Attachments | null>(null);
  rewriting = $state.raw<Rewriting | null>(null);
  /** The model of the next message alone. */
  nextModel = $state<string | null>(null);
  attempts = $state.raw<AskAttempts | null>(null);
  /** The attempts that were begun last. */
  begun = $state.raw<{ id: string; title: string }[]>([]);
  popup = $state<Popup>(null);
  /** What would be stopped by another Esc. */
  stopping = $state<string | null>(null);
  /** What came of the last command, in a sentence. */
  said = $state("");
  readonly queue: Queue;
  readonly drafts = new Drafts();
  readonly #attached = new Map<string, Attachments>();
  /** The action that the buttons wait for. */
  #underWay: Promise<void> = Promise.resolve();

  situation = $derived(this.detail ? situationOf(this.detail) : null);
  canSend = $derived(Boolean(this.situation?.takes) && !this.busy);

  readonly handlers: Handlers;

  constructor(handlers: Handlers) {
    this.handlers = handlers;
    this.queue = new Queue((error) => handlers.onError(error));
  }

  open(session: OpenedSession | null): void {
    this.keepDraft();
    this.session = session;
    this.detail = session?.detail ?? null;
    this.text = session ? this.drafts.get(session.id) : "";
    this.attachments = session?.detail ? this.#attachedTo(session.id, session.detail.project_id) : null;
    this.rewriting = this.nextModel = this.attempts = this.popup = this.stopping = null;
    this.begun = [];
    this.said = "";
    this.turn = "steer";
    this.queue.open(session).catch(this.handlers.onError);
  }

  update(detail: Detail): void {
    // It is read before the session is open here.
    if (detail.id !== this.session?.id) return;
    this.detail = detail;
    if (!this.situation?.running) this.stopping = null;
  }

  frame(frame: SeenFrame): void {
    this.queue.frame(frame);
  }

  keepDraft(): void {
    if (this.session) this.drafts.set(this.session.id, this.rewriting ? this.rewriting.draft : this.text);
  }

  async send(): Promise<void> {
    const session = this.session;
    await this.#underWay;
    const attached = this.attachments;
    if (session !== this.session || !session || !this.canSend || attached?.arriving) return;
    const content = this.text;
    if (!content.trim() && !attached?.list.length) return;
    await this.#doing(async () => {
      if (this.rewriting) await this.#rewind(session, this.rewriting);
      const posted: Posted = await create(`${session.path}/messages`, { content: content.trim() ? content : ONLY_IMAGES, ...attached?.body, ...this.#how() });
      this.drafts.set(session.id, "");
      attached?.clear();
      if (session !== this.session) return;
      if (this.text === content) this.text = "";
      this.begun = posted.attempt_group?.attempts.map(({ session_id: id, title }) => ({ id, title })) ?? [];
      if (posted.attempt_group) dispatchEvent(new Event("kaged-attempts"));
      this.nextModel = this.attempts = null;
      this.said = "";
      this.handlers.onSent();
    });
  }

  act(action: Action): Promise<void> {
    const session = this.session;
    this.stopping = null;
    return this.#doing(async () => {
      if (session) await request("POST", `${session.path}/${action}`);
    });
  }

  change(values: { model?: string | null; mode?: string; title?: string }): Promise<void> {
    const session = this.session;
    return this.#doing(async () => {
      if (!session) return;
      try {
        await request("PATCH", session.path, values);
      } finally {
        // What counts is what the daemon has stored.
        await session.refresh();
      }
    });
  }

  /** Write a message of the conversation anew. */
  rewrite(id: string, content: string): void {
    this.rewriting = { id, draft: this.rewriting?.draft ?? this.text };
    this.text = content;
  }

  giveUp(): void {
    if (!this.rewriting) return;
    this.text = this.rewriting.draft;
    this.rewriting = null;
  }

  /** Begin anew with a folder of its own, or in the project's: where a session works is settled when it is made. */
  workIn(workspace: "shared" | "worktree"): Promise<void> {
    const { session, detail } = this;
    return this.#doing(async () => {
      if (!session || !detail) return;
      const { project_id, issue_number, mode, headless, overrides, title } = detail;
      const made: Detail = await create("/sessions", { project_id, issue_number, mode, headless, overrides, workspace, ...(title ? { title } : {}) });
      this.#move(session.id, made.id, project_id);
      location.hash = to.session(made.id);
      await request("DELETE", session.path);
      this.handlers.onGone(session.id);
    });
  }

  /** Do this while the buttons wait, and report what goes wrong. */
  do(work: () => Promise<void>): Promise<void> {
    return this.#doing(work);
  }

  #how(): { mode?: string; model?: string; attempts?: AskAttempts } {
    if (this.attempts) return { attempts: this.attempts };
    const model = this.nextModel ? { model: this.nextModel } : {};
    return { mode: this.situation?.active ? this.turn : "queue", ...model };
  }

  async #rewind(session: OpenedSession, { id }: Rewriting): Promise<void> {
    await create(`${session.path}/rollback`, { message_id: id, before: true });
    // From now on it is a draft: sent again after a failure, it rewinds nothing.
    this.rewriting = null;
  }

  #move(from: string, to: string, projectId: string): void {
    this.drafts.set(to, this.text);
    this.drafts.set(from, "");
    this.text = "";
    const attached = this.#attached.get(from);
    if (attached) this.#attached.set(to, attached);
    this.#attached.delete(from);
    this.attachments = this.#attachedTo(to, projectId);
  }

  #attachedTo(id: string, projectId: string): Attachments {
    const known = this.#attached.get(id) ?? new Attachments(projectId, (error) => this.handlers.onError(error));
    this.#attached.set(id, known);
    return known;
  }

  #doing(work: () => Promise<void>): Promise<void> {
    this.#underWay = this.#done(work);
    return this.#underWay;
  }

  async #done(work: () => Promise<void>): Promise<void> {
    this.busy = true;
    try {
      await work();
    } catch (error) {
      this.handlers.onError(error);
    }
    this.busy = false;
  }
}
