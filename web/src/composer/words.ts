// Numbers of the composer, written for people.

import { dollars, short } from "../format.ts";
import type { Detail, Model } from "./types.ts";

export { short };

export function percent(fraction: number): string {
  return `${Math.round(fraction * 100)} %`;
}

/** What the tokens of a context are, in the order in which they are sent. */
export const SHARES = { system: "System prompt", tools: "Tools", messages: "Messages", results: "Results" } as const;
export type Share = keyof typeof SHARES;
export const SHARE_NAMES = Object.keys(SHARES) as Share[];

/** What a model can read and costs, as far as that is known. */
export function priceOf({ context_window: window, input_usd: input, output_usd: output }: Model): string {
  const facts = window ? [`${short(window)} tokens of context`] : [];
  if (input === 0 && output === 0) facts.push("free");
  else if (input !== null && output !== null) facts.push(`${dollars(input)} in, ${dollars(output)} out per 1M tokens`);
  else facts.push("price unknown");
  return facts.join(" · ");
}

export function costOf({ cost_usd: cost }: Detail): string {
  if (cost.total === null) return cost.incomplete ? "cost unknown" : "";
  return `${dollars(cost.total)}${cost.incomplete ? "+" : ""}`;
}

/** The name of a model without its provider. */
export function modelName(model: string): string {
  return model.slice(model.indexOf(":") + 1);
}
