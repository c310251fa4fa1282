// What an item of the inbox is called, and where it leads.

import { request } from "../api.ts";
import { words } from "../format.ts";
import { to } from "../routes.ts";
import { failureOf } from "../thread/failures.ts";
import type { Item } from "./inbox.svelte.ts";

const QUESTIONS: Record<string, string> = { permission: "Asks for permission", ask: "Question", question: "Question", form: "Asks for data", plan: "Proposes a plan" };
const KINDS: Record<Item["kind"], string> = { question: "Question", todo_proposal: "Proposed for the checklist", compaction: "Proposes a shorter context", budget: "Limit reached", budget_warning: "Near its limit", failed_run: "Failed", finished_run: "Finished" };
const LIMITS: Record<string, string> = { tokens: "tokens", usd: "cost", seconds: "time" };
/** Why a run was interrupted: nothing failed. */
const REASONS: Record<string, string> = {
  daemon_restarted: "The daemon stopped while it ran.",
  max_steps: "It reached its largest number of steps.",
};

export type Tone = "waiting" | "failed" | "done";

export function kindOf({ kind, question, run }: Item): string {
  if (kind === "question") return QUESTIONS[question?.kind ?? ""] ?? KINDS.question;
  return kind === "failed_run" && run?.state === "interrupted" ? "Interrupted" : KINDS[kind];
}

export function toneOf({ kind }: Item): Tone {
  if (kind === "failed_run") return "failed";
  return kind === "finished_run" ? "done" : "waiting";
}

/** Return the address of the place that an item is about. */
export function placeOf({ id, session_id: session, kind }: Item): string {
  if (kind === "todo_proposal" || kind === "compaction" || kind === "budget_warning") return to.session(session);
  return to.at(session, id);
}

/** Return which limit has paused a run, as a sentence. */
export function limitOf({ run }: Item): string {
  const name = LIMITS[run?.reason?.replace("budget_", "") ?? ""];
  return name ? `Its limit of ${name} is used up.` : "Its limit is used up.";
}

/** Return what a limit counts, in a word. */
export function limitName(unit: string): string {
  return LIMITS[unit] ?? unit;
}

/** Tell the daemon that a person has seen that a run is near a limit. Throws `ApiError`. */
export async function see({ run }: Item): Promise<void> {
  await request("POST", `/runs/${encodeURIComponent(run?.id ?? "")}/see-warnings`);
}

/** Return the beginning of an answer as plain text, without the marks of Markdown. */
export function plain(text: string): string {
  return text.replace(/^\s*(#+|>)\s+|^\|.*$/gm, "").replace(/\*\*|`+/g, "").replace(/\n{2,}/g, "\n");
}

/** Return what failed and what to do about it, as the conversation says it; of a run that was interrupted, the reason. */
export function reasonOf({ failure, run }: Item): string {
  const reason = run?.reason ?? "";
  if (failure || run?.state === "failed" || reason === "stuck") return failureOf({ error: failure, reason });
  return REASONS[reason] ?? (reason ? `It ended: ${words(reason)}.` : "It ended without saying why.");
}
