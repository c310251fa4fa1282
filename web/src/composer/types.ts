// What the composer reads of the interface.

import type { components } from "../../../clients/typescript/src/generated/routes.ts";

type Schemas = components["schemas"];
export type Detail = Schemas["SessionDetail"];
export type Message = Schemas["MessageAnswer"];
export type Mode = Schemas["ModeAnswer"];
export type Model = Schemas["ModelAnswer"];
export type Posted = Schemas["PostedMessageAnswer"];
export type AskAttempts = Schemas["AskAttempts"];

/** The open session, as `open_session.ts` follows it. */
export interface OpenedSession {
  readonly id: string;
  readonly path: string;
  readonly detail: Detail | null;
  refresh(): Promise<void>;
}

/** A frame of the session's stream, as far as the composer looks at it. */
export interface SeenFrame {
  type: string;
  agent_path?: string;
}
