// A checklist in a call or in its result.

import type { Call } from "../items.svelte.ts";
import type { Parsed } from "./results.ts";

export interface Entry {
  text: string;
  status: string;
}

/** Return the entries as they are after the call, null when it does not tell them. */
export function checklistOf(call: Call, found: Parsed | null): Entry[] | null {
  const lists = [found?.head?.["todos"], found?.head?.["items"], call.given?.todos, call.given?.items];
  const list = lists.find((one) => Array.isArray(one) && one.length > 0);
  const entries = (list as any[] | undefined)?.map(entryOf);
  return entries?.every((entry) => entry !== null) ? (entries as Entry[]) : null;
}

function entryOf(given: any): Entry | null {
  if (typeof given === "string") return { text: given, status: "pending" };
  const text = given?.content ?? given?.text ?? given?.title;
  return typeof text === "string" ? { text, status: String(given.status ?? "pending") } : null;
}
