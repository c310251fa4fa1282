// The words for workflow runs.

import { h } from "../dom.ts";
import { words } from "../format.ts";
import type { ListedRun } from "./types.ts";

const TONES: Partial<Record<ListedRun["state"], string>> = { queued: "waiting", running: "busy", succeeded: "good", failed: "bad" };

type Standing = Pick<ListedRun, "state" | "session_state" | "pending_interactions">;

/** Tell whether an event of this type may change what a session waits for. */
export function aboutWaiting(type: string): boolean {
  return ["session.", "permission.", "interaction."].some((beginning) => type.startsWith(beginning));
}

/** Tell whether a run waits for the answer of a person. */
export function asks(run: Standing): boolean {
  return run.state === "running" && run.pending_interactions > 0;
}

/** Tell whether a run under way waits for somebody to resume its session. */
function waits(run: Standing): boolean {
  return asks(run) || (run.state === "running" && (run.session_state === "paused" || run.session_state === "queued"));
}

/** Return the word for the state of a run; where its session waits, what it waits for. */
export function runWord(run: Standing): string {
  if (asks(run)) return "asks you";
  return words(waits(run) ? run.session_state : run.state);
}

export function runPill(run: Standing): HTMLElement {
  return h("span", { class: "pill", data: { state: run.state, tone: waits(run) ? "waiting" : (TONES[run.state] ?? "") } }, runWord(run));
}

/** Return what caused a run, in words. */
export function cause(run: Pick<ListedRun, "cause" | "issue_number" | "invoked_by">): string {
  const by = run.invoked_by?.id ?? "";
  if (run.cause === "schedule") return "by its schedule";
  if (run.cause === "issue") return `by issue #${run.issue_number}`;
  return run.cause === "agent" ? "by the agent" : `by ${by && by !== "operator" ? by : "the operator"}`;
}
