// The words for the state of a session: what it does, or how its last run ended.

import type { Schemas } from "./api.ts";
import { words } from "./format.ts";

type Listed = Schemas["ListedSession"];
/** What the words follow from, of a listed session as of an open one. */
type Stated = Pick<Listed, "state" | "state_reason" | "last_run" | "pending_interactions">;

/** A run that a person paused, or that waited for one when the daemon stopped, did not fail. */
const NO_FAILURE = new Set<string | null>(["paused", "interaction"]);

/** Tell whether a session waits for the answer of a person. */
export function asks(session: Stated): boolean {
  if (session.state === "paused") return session.state_reason === "interaction";
  return session.state === "running" && (session.pending_interactions ?? 0) > 0;
}

/** Tell whether a session does nothing because its last run failed or was interrupted. */
export function failed({ state, last_run: run }: Stated): boolean {
  return state === "idle" && (run?.state === "failed" || (run?.state === "interrupted" && !NO_FAILURE.has(run.reason)));
}

/** How long the end of a run waits to be looked at, as in the inbox. */
const DAYS = 14;

/** Tell whether the newest run of a session has ended and nobody has looked at its end. */
export function unread(session: Listed): boolean {
  const { last_run: run, seen_run_id: seen, updated_at: at } = session;
  if (!run || run.id === seen || session.state !== "idle" || Date.now() - Date.parse(at) > DAYS * 86_400_000) return false;
  return failed(session) || (run.state === "succeeded" && !session.headless && session.kind === "chat");
}

/** Return the word for what a session does, or for how its last run failed. */
export function sessionWord(session: Stated): string {
  if (asks(session)) return "asks you";
  const run = session.last_run;
  if (session.state === "idle" && !failed(session)) return !run ? "new" : run.state === "succeeded" ? "done" : words(run.state);
  if (!run || !failed(session)) return words(session.state);
  return run.reason === "stuck" ? "stuck" : run.state;
}

const FAILED: Record<string, string> = {
  stuck: "The last run was stopped: the agent did the same again and again.",
  interrupted: "The last run was interrupted before its end.",
  failed: "The last run failed. The end of the conversation says why.",
};

const STATES: Record<string, string> = {
  idle: "No agent is at work.",
  queued: "It waits until there is room for its run.",
  running: "An agent is at work.",
  archived: "It is put away, and can be read.",
};

/** Return what the word for the state of a session means, in a sentence. */
export function stateWords(session: Listed, asking = asks(session)): string {
  if (asking) return "An agent waits for your answer.";
  if (failed(session)) return FAILED[sessionWord(session)] ?? "The last run failed.";
  if (session.state === "paused") return `It goes on when a person lets it${session.state_reason ? `. The reason: ${words(session.state_reason)}` : ""}.`;
  const succeeded = session.state === "idle" && session.last_run?.state === "succeeded";
  return `${STATES[session.state] ?? words(session.state)}${succeeded ? ` The last run succeeded${unread(session) ? ", and nobody has looked at its end yet" : ""}.` : ""}`;
}
