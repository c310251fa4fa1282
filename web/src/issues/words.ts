// The words for statuses and people of issues.

import { h } from "../dom.ts";
import { words } from "../format.ts";
import type { Status } from "./types.ts";

/** Every status, in the order of an issue's life. */
export const STATUSES: readonly Status[] = ["open", "triaged", "assigned", "in_progress", "resolved", "rejected", "reopened"];

const FINISHED: ReadonlySet<Status> = new Set<Status>(["resolved", "rejected"]);

/** Every status of an unfinished issue, as part of an address. */
export const UNFINISHED: string = STATUSES.filter((name) => !FINISHED.has(name))
  .map((name) => `status=${name}`)
  .join("&");

const TONES: Partial<Record<Status, string>> = { in_progress: "busy", assigned: "busy", resolved: "good", rejected: "bad", open: "waiting", reopened: "waiting" };

export function statusPill(status: Status): HTMLElement {
  return h("span", { class: "pill", data: { status, tone: TONES[status] ?? "" } }, words(status));
}

/** `operator:anna` is Anna the operator; the name alone is enough where the kind is plain. */
export function person(actor: string | null | undefined): string {
  if (actor === null || actor === undefined) return "nobody";
  const [kind, name] = actor.split(":", 2);
  if (kind === "agent") return "the agent";
  if (kind === "operator") return name && name !== "operator" ? name : "the operator";
  return name ? `${name} (${kind})` : `the ${kind}`;
}

export function assignee(assignment: string | null): string {
  if (!assignment) return "nobody";
  if (assignment === "primary") return "the primary agent";
  const [kind, name] = assigned(assignment);
  return kind === "session" ? "a session" : `the workflow ${name}`;
}

/** Return the kind and the name of who works on an issue. */
export function assigned(assignment: string): [kind: string, name: string] {
  const [kind = "", name = ""] = assignment.split(/:(.*)/s, 2);
  return [kind, name];
}
