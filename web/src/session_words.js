// The words for the state of a session: what it does, or how its last run ended.

import { words } from "./format.js";

/** A run that a person paused, or that waited for one when the daemon stopped, did not fail. */
const NO_FAILURE = new Set(["paused", "interaction"]);

/** Tell whether a session waits for the answer of a person. */
export function asks(session) {
  if (session.state === "paused") return session.state_reason === "interaction";
  return session.state === "running" && session.pending_interactions > 0;
}

/** Tell whether a session does nothing because its last run failed or was interrupted. */
export function failed(session) {
  const { state, reason } = session.last_run ?? {};
  return session.state === "idle" && (state === "failed" || (state === "interrupted" && !NO_FAILURE.has(reason)));
}

/** How long the end of a run waits to be looked at, as in the inbox. */
const DAYS = 14;

/** Tell whether the newest run of a session has ended and nobody has looked at its end. */
export function unread(session) {
  const { last_run: run, seen_run_id: seen, updated_at: at } = session;
  if (!run || run.id === seen || session.state !== "idle" || Date.now() - Date.parse(at) > DAYS * 86_400_000) return false;
  return failed(session) || (run.state === "succeeded" && !session.headless && session.kind === "chat");
}

/** Return the word for what a session does, or for how its last run failed. */
export function sessionWord(session) {
  if (asks(session)) return "asks you";
  if (!failed(session)) return words(session.state);
  return session.last_run.reason === "stuck" ? "stuck" : session.last_run.state;
}
