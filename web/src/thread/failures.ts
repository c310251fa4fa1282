// What failed in a run, and what a person can do: a sentence each, by the code of its error.

import type { EndedRun } from "./items.svelte.ts";

const SENTENCES: Record<string, [what: string, todo: string]> = {
  rate_limited: ["PROVIDER takes no more requests at the moment.", "Try again in a while, or with another model."],
  overloaded: ["PROVIDER could not serve the request.", "Try again in a while, or with another model."],
  truncated_stream: ["The answer of PROVIDER broke off.", "Try again."],
  network: ["PROVIDER could not be reached.", "Look at the network and at the provider's address, then try again."],
  auth: ["PROVIDER does not accept the key, or its account has no credit.", "Look at the key in the provider's settings, then try again."],
  context_overflow: ["The conversation is longer than the model can read.", "Write /compact to make room, or try with a model that reads more."],
  content_refused: ["PROVIDER refuses to answer this.", "Edit the message and resend it, or try with another model."],
  bad_request: ["PROVIDER refused the request.", "Try with another model, or look at the provider's settings."],
  unknown: ["The call of PROVIDER failed.", "Try again, or with another model."],
  hook_denied: ["A hook of the project stopped the run.", "Do what it asks for, then try again."],
  project_untrusted: ["Nobody trusts the project as it is now.", "Look at what it may do and trust it, then try again."],
  internal: ["kaged itself failed, not the model.", "Try again. If it fails again, the daemon's log has the details."],
  insufficient_storage: ["There is no room on the disk.", "Make room, then try again."],
  unavailable: ["The database could not be used.", "Try again when it is back."],
  stuck: ["The agent did the same again and again, so it was stopped.", "Tell it what to do differently."],
};
const OTHER: [string, string] = ["The run could not go on.", "Try again, or with another model."];

/** Return what failed and what to do about it, in words without a code. */
export function failureOf({ error, reason }: Pick<EndedRun, "error" | "reason">): string {
  const [what, todo] = SENTENCES[String(error?.["code"] ?? reason)] ?? OTHER;
  const provider = error?.["provider"];
  return `${what.replace("PROVIDER", typeof provider === "string" && provider ? provider : "The provider")} ${todo}`;
}
