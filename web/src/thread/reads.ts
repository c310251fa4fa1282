// Runs of calls that only look at something: they stand together as one line.

import { Answer, Call, type Item, type Part } from "./items.svelte.ts";

const READ = new Set(["file.read", "read"]);
const SEARCHED = new Set(["search.grep", "search.glob", "search.ast", "grep", "glob"]);
const LOOKED = new Set(["code.lsp", "hover", "definition", "references", "symbols", "diagnostics"]);

/** Answers without a word that follow each other and only look. */
export interface Reads {
  kind: "reads";
  id: string;
  answers: Answer[];
}

export type Row = Item | Reads;

export function onlyLooks(part: Part): boolean {
  return part instanceof Call && (READ.has(part.name) || SEARCHED.has(part.name) || (LOOKED.has(part.name) && !writes(part)));
}

/** Return the items with answers that only look put together. */
export function rowsOf(items: Item[]): Row[] {
  const rows: Row[] = [];
  for (const item of items) {
    const last = rows.at(-1);
    if (!(item instanceof Answer) || !looks(item)) rows.push(item);
    else if (last?.kind === "reads") last.answers.push(item);
    else if (last instanceof Answer && looks(last)) rows[rows.length - 1] = { kind: "reads", id: last.id, answers: [last, item] };
    else rows.push(item);
  }
  return rows;
}

/** Return the parts of an answer, with two or more calls in a row that only look put together. */
export function grouped(parts: Part[]): (Part | Call[])[] {
  const found: (Part | Call[])[] = [];
  for (const part of parts) {
    const last = found.at(-1);
    if (!onlyLooks(part)) found.push(part);
    else if (Array.isArray(last)) last.push(part as Call);
    else if (last instanceof Call && onlyLooks(last)) found[found.length - 1] = [last, part as Call];
    else found.push(part);
  }
  return found;
}

/** Say what calls did: "Read 4 files, searched 2 times". */
export function summary(calls: Call[]): string {
  const files = new Set(calls.filter((call) => READ.has(call.name)).map((call) => call.given?.path)).size;
  const searches = calls.filter((call) => SEARCHED.has(call.name)).length;
  const looks = calls.length - searches - calls.filter((call) => READ.has(call.name)).length;
  const parts = [
    files ? `read ${files} file${files === 1 ? "" : "s"}` : "",
    searches ? `searched ${times(searches)}` : "",
    looks ? `looked up code ${times(looks)}` : "",
  ].filter(Boolean);
  const text = parts.join(", ");
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function looks(answer: Answer): boolean {
  return answer.complete && answer.parts.length > 0 && !answer.facts.errorMessage && answer.parts.every(onlyLooks);
}

function writes(call: Call): boolean {
  return /rename|apply|action|format/.test(String(call.given?.action ?? ""));
}

function times(count: number): string {
  return count === 1 ? "once" : `${count} times`;
}
