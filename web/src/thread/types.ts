// What the thread is built from: messages and runs as the HTTP interface gives them, frames as the stream does.

import type { components } from "../../../clients/typescript/src/generated/routes.ts";

export type Message = components["schemas"]["MessageAnswer"];
export type Run = components["schemas"]["RunAnswer"];
export type Interaction = components["schemas"]["InteractionAnswer"];
export type Superseded = components["schemas"]["SupersededMessages"];

/** A frame; its payload is what `openapi/events.schema.json` says of its type. */
export interface Frame {
  seq: number | null;
  type: string;
  ts: string;
  payload: any;
  agent_path?: string;
  run_id?: string;
  parent_tool_call_id?: string;
}

/** Whether a frame is stored, so that it can come twice. */
export function isDurable({ type }: Frame): boolean {
  return !["message.delta", "message.snapshot", "tool.progress"].includes(type);
}

export interface ToolGiven {
  id: string;
  name: string;
  arguments: any;
  attempt?: number;
}

export interface ToolResult {
  content: string;
  isError?: boolean;
  /** When it came. */
  at?: string;
  durationMs?: number | null;
  contentRef?: string | null;
  metadata?: any;
  wrote?: { path: string }[];
}

/** What somebody can do in the thread; each throws `ApiError`. */
export interface Actions {
  rewind(id: string, more: { files?: boolean; plan?: string }): Promise<void>;
  preview(id: string): Promise<StagedFiles>;
  restore(rollback: string): Promise<void>;
  fork(id: string): Promise<void>;
  resend(id: string, text: string): Promise<void>;
  retry(run: string, model: string | null): Promise<void>;
  stop(run: string): Promise<void>;
  /** What the session has changed in a file, from its start; null when that is nothing. */
  change(path: string): Promise<Change | null>;
  revert(change: Change): Promise<{ id: string }>;
  /** The newest reverts of the session, those that were undone, too. */
  reverts(): Promise<components["schemas"]["RevertAnswer"][]>;
  undo(revert: string): Promise<void>;
  superseded(by: string | null): Promise<Message[]>;
  messagesOf(run: string): Promise<Message[]>;
  quote(text: string): void;
  open(what: "changes" | "files", path?: string): void;
  /** Return the address of a line of a file. */
  lineOf(path: string, line: number): string;
  /** Return the address of something in the session. */
  address(what: string): string;
  /** A person has the end of a run in view. */
  seen(run: string): void;
  /** A person has in view that a run is near a limit. */
  warned(run: string | null): void;
  failed(error: unknown): void;
  /** Return an agent of the session with its cage; null when that is not known. */
  agent(path: string): Promise<components["schemas"]["SessionAgent"] | null>;
}

export type Change = components["schemas"]["ChangeDiffAnswer"];

export interface StagedFiles {
  plan: string;
  restored: { path: string; change: string; diff: string | null }[];
  conflicts: { path: string; reason: string }[];
}
