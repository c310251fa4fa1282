// What the daemon says about a session besides messages, in words.

import { amount } from "../format.ts";
import type { Frame } from "./types.ts";

export function noteOf({ type, payload }: Frame): string | null {
  switch (type) {
    case "budget.warning":
      return budget(payload);
    case "prompt.reloaded":
      return `The prompt of ${payload.agents.join(", ")} was reloaded.`;
    case "prompt.failed":
      return payload.prompts.map((prompt: any) => `The prompt ${prompt.file} cannot be used (${prompt.message}). The last good text stays in use.`).join(" ");
    case "checkpoint.created":
      return payload.detail ? `Paused: ${payload.detail}` : null;
    case "compaction.failed":
      return "The older messages could not be summarised. They stay as they are.";
    default:
      return null;
  }
}

function budget({ unpriced_model: unpriced, limit, used, unit, reached }: any): string {
  if (unpriced) return `The limit of ${amount(limit, unit)} has no effect: ${unpriced} has no known price.`;
  return `Limit ${reached ? "reached" : "near"}: ${amount(used, unit)} of ${amount(limit, unit)}`;
}
