/** Which run answers a message, and when it has ended. Without input or output. */

import type { KagedEvent } from "./follow.js";

const ROOT_AGENT = "primary";
const WAITS_FOR_ANSWER = "interaction";
const ENDED = new Set(["succeeded", "failed", "cancelled", "interrupted"]);

/** What follows an event: `look` reads the session, which may have ended in a way that no event tells. */
export type Next = "go on" | "look" | "finish";

export interface SeenSession {
  state: string;
  state_reason?: string | null;
  queued_messages: number;
  last_run?: { id: string; state: string } | null;
}

export class Progress {
  readonly messageId: string;
  readonly steers: boolean;
  runId: string | null;
  #waits = false;

  constructor(messageId: string, runId: string | null, steers: boolean) {
    this.messageId = messageId;
    this.runId = runId;
    this.steers = steers;
  }

  take(event: KagedEvent): Next {
    if (event.type === "resync") return "look";
    if ((event.agent_path ?? ROOT_AGENT) !== ROOT_AGENT) return "go on";
    switch (event.type) {
      case "interaction.answered":
      case "permission.answered":
        return this.#waits && event.payload.state !== "answered" ? "look" : "go on";
      case "message.removed":
        return event.payload.message_id === this.messageId ? "look" : "go on";
      case "run.started":
        if (this.#waits || event.payload.trigger_message_id === this.messageId) {
          this.runId = event.payload.run_id;
          this.#waits = false;
        }
        return "go on";
      case "run.ended":
        if (event.payload.run_id !== this.runId && !this.steers) return "go on";
        this.runId = event.payload.run_id;
        // The answer starts a run that continues the work.
        this.#waits = event.payload.reason === WAITS_FOR_ANSWER;
        return this.#waits ? "go on" : "finish";
      default:
        return "go on";
    }
  }

  /** Whether a session that was looked at will not go on with the message. */
  settled(session: SeenSession): boolean {
    const last = session.last_run;
    if (!last || session.queued_messages > 0 || session.state === "running" || session.state === "queued") return false;
    if (session.state === "paused" && (this.#waits || session.state_reason === WAITS_FOR_ANSWER)) return false;
    if (!ENDED.has(last.state)) return false;
    this.runId = last.id;
    return true;
  }
}

/** The id of the question that an event reports. */
export function asked(event: KagedEvent): string | null {
  return event.type === "interaction.requested" || event.type === "permission.requested" ? event.payload.interaction_id : null;
}
