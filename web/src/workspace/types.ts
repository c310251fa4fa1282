// What the panel knows of the page around it.

import type { components } from "../../../clients/typescript/src/generated/routes.ts";
import type { SessionStore } from "../thread/session.svelte.ts";

export type Schemas = components["schemas"];

/** A session as `open_session.ts` opens it. */
export interface OpenSession {
  readonly id: string;
  readonly path: string;
  detail: Schemas["SessionDetail"] | null;
  refresh(): Promise<void>;
  readonly conversation: { readonly store: SessionStore | null };
}

/** An event of the session's stream. */
export interface Frame {
  type: string;
  payload: Record<string, unknown>;
}

/** What an address names beside the conversation. */
export type Place = FilePlace | AgentPlace;

export interface FilePlace {
  tab: "changes" | "files";
  path: string | null;
  line: number | null;
}

/** A run of a subagent. */
export interface AgentPlace {
  tab: "agent";
  run: string;
}

/** A refusal, as `ApiError` has it. */
export interface Refusal {
  message: string;
  status?: number;
  code?: string | number;
  details?: Record<string, unknown>;
}
