// What the daemon says about a session besides messages, in words.

import { amount, duration } from "../format.ts";
import type { Frame } from "./types.ts";

interface Words {
  text: string;
  tone: "" | "warning";
}

export function noteOf({ type, payload }: Frame): Words | null {
  switch (type) {
    case "model.retry":
      return retry(payload);
    case "budget.warning":
      return warning(budget(payload));
    case "prompt.reloaded":
      return { text: `The prompt of ${payload.agents.join(", ")} was reloaded.`, tone: "" };
    case "prompt.failed":
      return warning(payload.prompts.map((prompt: any) => `The prompt ${prompt.file} cannot be used (${prompt.message}). The last good text stays in use.`).join(" "));
    case "checkpoint.created":
      return payload.detail ? { text: `Paused: ${payload.detail}`, tone: "" } : null;
    case "compaction.failed":
      return warning("The older messages could not be summarised. They stay as they are.");
    default:
      return null;
  }
}

function retry({ message, fallback_to: next, delay_ms: delay }: any): Words | null {
  if (next === null && delay === null) return null;
  return warning(`${message}; ${next ? `trying ${next}` : `trying again in ${duration(delay)}`}`);
}

function budget({ unpriced_model: unpriced, limit, used, unit, reached }: any): string {
  if (unpriced) return `The limit of ${amount(limit, unit)} has no effect: ${unpriced} has no known price.`;
  return `Limit ${reached ? "reached" : "near"}: ${amount(used, unit)} of ${amount(limit, unit)}`;
}

function warning(text: string): Words {
  return { text, tone: "warning" };
}
