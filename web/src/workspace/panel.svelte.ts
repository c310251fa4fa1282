// What the panel shows: the session, the tab, the place in it, and what went wrong there.

import type { Frame, OpenSession, Place, Refusal, Schemas } from "./types.ts";

export const TABS = {
  changes: "Changes",
  files: "Files",
  issue: "Issue",
  use: "Use",
  prompts: "Prompts",
  tools: "Tools",
  audit: "Audit",
  session: "Session",
} as const;

/** The tabs that are always there, and the one of a subagent while the address names it. */
export type Tab = keyof typeof TABS | "agent";

export interface Handlers {
  onError: (error: unknown) => void;
  onGone: (id: string) => void;
  /** Put a text into the message to the agent. */
  onQuote: (text: string) => void;
}

export class Panel {
  open = $state(false);
  tab = $state<Tab>("changes");
  session = $state.raw<OpenSession | null>(null);
  detail = $state.raw<OpenSession["detail"]>(null);
  place = $state.raw<Place | null>(null);
  /** The run of the subagent that is open beside. */
  readonly agent = $derived(this.place?.tab === "agent" ? this.place.run : null);
  trouble = $state.raw<Refusal | null>(null);
  /** How many files the session has changed, as far as that is known. */
  changed = $state<number | null>(null);
  /** Counts what asks for the tab to be drawn again. */
  drawn = $state(0);
  readonly handlers: Handlers;
  /** The tab before that of a subagent. */
  #before: Tab = "changes";
  #following = new Set<(frame: Frame) => void>();

  constructor(handlers: Handlers) {
    this.handlers = handlers;
  }

  get project(): string {
    return `/projects/${encodeURIComponent(this.detail?.project_id ?? "")}`;
  }

  show(session: OpenSession | null): void {
    this.session = session;
    this.detail = session?.detail ?? null;
    this.trouble = null;
    if (!session) this.changed = null;
  }

  frame(frame: Frame): void {
    this.detail = this.session?.detail ?? null;
    if (frame.type === "changes.updated") this.changed = Number(frame.payload["total"]);
    for (const follow of this.#following) follow(frame);
  }

  /** Call `follow` for each event of the session until the function that this returns is called. */
  follow(follow: (frame: Frame) => void): () => void {
    this.#following.add(follow);
    return () => this.#following.delete(follow);
  }

  /** Open what an address names; null leaves the tab as it is, unless that is of a subagent. */
  go(place: Place | null): void {
    this.place = place;
    if (place) this.choose(place.tab);
    else if (this.tab === "agent") this.choose(this.#before);
  }

  choose(tab: Tab): void {
    if (tab !== "agent") this.#before = tab;
    this.tab = tab;
    this.trouble = null;
  }

  /** What went wrong is told in the panel, which may lie over everything else. */
  failed = (error: unknown): void => {
    const refusal = error as Refusal;
    if (refusal.status === 401 || refusal.code === 4401) this.handlers.onError(error);
    else this.trouble = refusal;
  };

  /** Do `work`, and return what it gives; null when it was refused, which is shown. */
  async attempt<Result>(work: () => Promise<Result>): Promise<Result | null> {
    this.trouble = null;
    try {
      return await work();
    } catch (error) {
      this.failed(error);
      return null;
    }
  }

  quote(text: string): void {
    this.handlers.onQuote(text);
  }
}

export type Change = Schemas["ChangeAnswer"];
