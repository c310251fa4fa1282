// The words for statuses and people of issues.

import { h } from "./dom.ts";
import { words } from "./format.ts";

/** Every status, in the order of an issue's life. */
export const STATUSES = ["open", "triaged", "assigned", "in_progress", "resolved", "rejected", "reopened"];

const FINISHED = new Set(["resolved", "rejected"]);

/** Every status of an unfinished issue, as part of an address. */
export const UNFINISHED = STATUSES.filter((name) => !FINISHED.has(name))
  .map((name) => `status=${name}`)
  .join("&");

const TONES = { in_progress: "busy", assigned: "busy", resolved: "good", rejected: "bad", open: "waiting", reopened: "waiting" };

export function statusPill(status) {
  return h("span", { class: "pill", data: { status, tone: TONES[status] ?? "" } }, words(status));
}

/** `operator:anna` is Anna the operator; the name alone is enough where the kind is plain. */
export function person(actor) {
  if (actor === null || actor === undefined) return "nobody";
  const [kind, name] = actor.split(":", 2);
  if (kind === "agent") return "the agent";
  if (kind === "operator") return name && name !== "operator" ? name : "the operator";
  return name ? `${name} (${kind})` : `the ${kind}`;
}

export function assignee(assignment) {
  if (!assignment) return "nobody";
  if (assignment === "primary") return "the primary agent";
  const [kind, name] = assignment.split(/:(.*)/s, 2);
  return kind === "session" ? "a session" : `the workflow ${name}`;
}
