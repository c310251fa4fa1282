// What the daemon says would leave with a shared session, in words.

import type { components } from "../../../clients/typescript/src/generated/routes.ts";

export type Preview = components["schemas"]["SharePreview"];
export type Format = "html" | "markdown";
export type Part = "results" | "thinking" | "subagents" | "images";

const NUMBER = new Intl.NumberFormat("en");
/** One and several of each part. */
const WORDS: Record<string, [string, string]> = {
  messages: ["message", "messages"],
  answers: ["answer", "answers"],
  tool_calls: ["tool call", "tool calls"],
  results: ["result of a tool call", "results of tool calls"],
  thinking: ["thought", "thoughts"],
  subagents: ["subagent", "subagents"],
  images: ["image", "images"],
  attached_files: ["content of an attached file", "contents of attached files"],
  notes: ["note to the agent", "notes to the agent"],
};

/** Return `3 answers` for each part of which there is one, in the order of a reader. */
export function counted(counts: Record<string, number>): string[] {
  return Object.entries(WORDS)
    .filter(([name]) => (counts[name] ?? 0) > 0)
    .map(([name, words]) => number(counts[name] ?? 0, words));
}

export function number(count: number, [one, several]: [string, string]): string {
  return `${NUMBER.format(count)} ${count === 1 ? one : several}`;
}
