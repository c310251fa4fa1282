// What the list of sessions shows: the states that one can choose, what is asked of the daemon for them, and whether a
// session that changes meanwhile still belongs there.

import type { components } from "../../../clients/typescript/src/generated/routes.ts";
import { asks, failed, unread } from "../session_words.ts";

export type Session = components["schemas"]["ListedSession"];
export type Project = components["schemas"]["ProjectAnswer"];

export interface Choice {
  text: string;
  state: StateName;
  /** The id of a project, null for all. */
  project: string | null;
}

export const STATES = {
  current: "All",
  asks: "Asks you",
  running: "Running",
  failed: "Failed",
  unread: "Unread",
  done: "Done",
  archived: "Archived",
} as const;

export type StateName = keyof typeof STATES;

/** Return the parameters of the request for a choice. */
export function asked({ text, state, project }: Choice): Record<string, string | null> {
  const states: Partial<Record<StateName, Record<string, string>>> = {
    asks: { asks: "true" },
    running: { state: "running" },
    failed: { failed: "true" },
    done: { state: "idle" },
    archived: { archived: "true" },
  };
  return { text: text || null, project_id: project, ...(states[state] ?? { archived: "false" }) };
}

/** Tell whether a session belongs to a choice. */
export function belongs(session: Session, { text, state, project }: Choice): boolean {
  if (project !== null && session.project_id !== project) return false;
  if (text && !session.title.toLowerCase().includes(text.toLowerCase())) return false;
  switch (state) {
    case "asks":
      return asks(session);
    case "running":
      return session.state === "running" && !asks(session);
    case "failed":
      return failed(session);
    case "done":
      return session.state === "idle" && !failed(session);
    case "unread":
      return unread(session);
    case "archived":
      return session.state === "archived";
    default:
      return session.state !== "archived";
  }
}
