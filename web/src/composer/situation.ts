// What can be done in a session now, and what the page says about it.

import type { Detail } from "./types.ts";

const CONTINUABLE = new Set(["length", "max_steps", "stuck"]);

const HINTS: Record<string, string> = {
  running: "The agent is running. Your message steers it at its next step, or waits in the queue.",
  queued: "This session waits for a free place: as many sessions run as may.",
  paused: "Paused. Resume continues from here; Stop ends the run.",
  archived: "This session is archived. It is read-only.",
};
const ASKING = "The agent waits for your answer. Resume continues without it; Stop ends the run.";
const ASKING_AND_TAKING = "The agent waits for your answer. New messages are queued. Resume continues without the answer; Stop ends the run.";

export interface Situation {
  /** A run is active: what is sent now steers it or waits. */
  active: boolean;
  running: boolean;
  /** A message can be sent. */
  takes: boolean;
  /** The field gives its place to the question. */
  hides: boolean;
  /** Nothing has been said in the session. */
  fresh: boolean;
  stop: boolean;
  pause: boolean;
  resume: boolean;
  continue: boolean;
  hint: string;
}

export function situationOf(detail: Detail): Situation {
  const { state } = detail;
  const running = state === "running";
  const waits = Boolean(detail.active_run) && !running;
  const asks = state === "paused" && detail.state_reason === "interaction";
  return {
    active: running || waits,
    running,
    takes: state === "idle" || running || waits || state === "queued",
    hides: asks && !waits,
    fresh: state === "idle" && !detail.last_run && !detail.active_run && detail.queued_messages === 0,
    stop: running || state === "queued" || state === "paused",
    // A session that waits is at rest: what it can do is go on.
    pause: running,
    resume: state === "paused" || state === "queued",
    continue: state === "idle" && CONTINUABLE.has(detail.last_run?.reason ?? ""),
    hint: asks ? (waits ? ASKING_AND_TAKING : ASKING) : (HINTS[state] ?? ""),
  };
}
