// How runs of workflows are shown.

import { h } from "/static/dom.js";
import { words } from "/static/format.js";

export const STATES = ["queued", "running", "succeeded", "failed", "cancelled"];

const TONES = { queued: "waiting", running: "busy", succeeded: "good", failed: "bad" };

export function runPill(state) {
  return h("span", { class: "pill", data: { state, tone: TONES[state] ?? "" } }, words(state));
}

/** Return what caused a run, in words. */
export function cause(run) {
  const by = run.invoked_by?.id ?? "";
  if (run.cause === "schedule") return "by its schedule";
  if (run.cause === "issue") return `by issue #${run.issue_number}`;
  return run.cause === "agent" ? "by the agent" : `by ${by && by !== "operator" ? by : "the operator"}`;
}
