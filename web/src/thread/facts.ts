// What an answer took, in words.

import { dollars, duration, tokens, words } from "../format.ts";
import type { Answer } from "./items.svelte.ts";

const USAGE: Record<string, string> = { inputTokens: "input", cacheReadTokens: "cache read", cacheWriteTokens: "cache write", outputTokens: "output", reasoningTokens: "of which reasoning" };

export function modelFacts({ model, facts: { usage, stats } }: Answer): string {
  return [model ? `Step with ${model}` : "", usage ? tokens(usage.totalTokens) : "", dollars(stats?.cost?.total), duration(stats?.duration)].filter(Boolean).join(" · ");
}

export function usageWords({ facts: { usage, stats } }: Answer): string {
  const parts = Object.entries(USAGE).filter(([key]) => usage?.[key]).map(([key, name]) => `${usage[key].toLocaleString("en")} ${words(name)}`);
  return [parts.join(", "), stats?.ttft ? `first word after ${duration(stats.ttft)}` : ""].filter(Boolean).join("; ");
}

/** Say why an answer is not whole, nothing when it is. */
export function trouble({ facts: { stopReason, errorMessage } }: Answer): string {
  if (errorMessage) return errorMessage;
  if (stopReason === "aborted") return "Stopped before the answer was complete.";
  return stopReason === "length" ? "Truncated: the output limit was reached." : "";
}
