// What is said of a subagent, on its card and beside the conversation.

import { dollars, duration, firstLine, words } from "../format.ts";
import type { Call } from "./items.svelte.ts";
import type { Thread } from "./thread.svelte.ts";

export function nameOf({ agent }: Thread): string {
  return agent.slice(agent.lastIndexOf(".subagents.") + 11);
}

export function taskOf(call: Call | null): string {
  return firstLine(call?.given?.task ?? call?.given?.prompt ?? call?.given?.description ?? "", 160);
}

export function isRunning({ run }: Thread): boolean {
  return !run?.ended_at && ["pending", "running", undefined].includes(run?.state);
}

/** Its state, time and cost. */
export function factsOf(thread: Thread): string {
  const run = thread.run ?? {};
  const took = run.started_at && run.ended_at ? duration(Date.parse(run.ended_at) - Date.parse(run.started_at)) : duration((run as { duration_ms?: number }).duration_ms);
  return [words(run.state ?? "running"), took, dollars(run.total_cost_usd ?? run.cost_usd)].filter(Boolean).join(" · ");
}
