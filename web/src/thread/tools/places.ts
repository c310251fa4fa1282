// Places in files that a call has found, by file.

import type { Call } from "../items.svelte.ts";

export interface Place {
  line: number | null;
  text: string;
  before: string[];
  after: string[];
  count: number | null;
}

export interface FilePlaces {
  file: string;
  places: Place[];
}

export interface Places {
  files: FilePlaces[];
  total: number;
  cut: boolean;
  /** What to mark in the lines. */
  pattern: RegExp | null;
}

const LISTS = ["matches", "files", "places", "locations", "references", "definitions", "results", "symbols"];

/** Return the places in a result, null when it has none. */
export function placesOf(call: Call, head: Record<string, any>): Places | null {
  const name = LISTS.find((key) => Array.isArray(head[key]) && head[key].length > 0 && head[key].every(isPlace));
  if (!name) return null;
  const files = new Map<string, Place[]>();
  for (const entry of head[name]) {
    const file = plain(typeof entry === "string" ? entry : (entry.file ?? entry.path));
    const places = files.get(file) ?? [];
    files.set(file, places);
    const place = typeof entry === "string" ? null : placeOf(entry);
    if (place) places.push(place);
  }
  const total = head["total_matches"] ?? head["count"] ?? head["total"] ?? head[name].length;
  return { files: [...files].map(([file, places]) => ({ file, places })), total, cut: Boolean(head["truncated"]), pattern: patternOf(call) };
}

/** Return a line in pieces; each second one is a match. */
export function marked(text: string, pattern: RegExp | null): string[] {
  if (!pattern || text.length > 2000) return [text];
  const pieces: string[] = [];
  let from = 0;
  for (const match of text.matchAll(pattern)) {
    if (!match[0]) continue;
    pieces.push(text.slice(from, match.index), match[0]);
    from = match.index + match[0].length;
  }
  return [...pieces, text.slice(from)];
}

function isPlace(entry: any): boolean {
  return typeof entry === "string" || typeof entry?.file === "string" || (typeof entry?.path === "string" && typeof entry?.line === "number");
}

function placeOf(entry: any): Place | null {
  const line = typeof entry.line === "number" ? entry.line : null;
  const count = typeof entry.count === "number" ? entry.count : null;
  if (line === null && count === null) return null;
  const text = entry.content ?? entry.preview ?? entry.text ?? entry.name ?? "";
  return { line, count, text: String(text), before: entry.context_before ?? [], after: entry.context_after ?? [] };
}

/** A pattern of the tool, as far as the browser reads it the same way. A hostile one could stop the page: only the
 * words of it are used then. */
function patternOf({ given }: Call): RegExp | null {
  const pattern = given?.pattern ?? given?.query;
  if (typeof pattern !== "string" || !pattern || pattern.length > 200) return null;
  const flags = given.case_insensitive || given["-i"] || given.ignore_case ? "gi" : "g";
  try {
    return /[+*{(]/.test(pattern) ? wordsOf(pattern, flags) : new RegExp(pattern, flags);
  } catch {
    return wordsOf(pattern, flags);
  }
}

function wordsOf(pattern: string, flags: string): RegExp | null {
  const words = pattern.replace(/\\[a-zA-Z]/g, " ").match(/[\p{L}\p{N}_]{2,}/gu);
  return words ? new RegExp(words.join("|"), flags) : null;
}

function plain(file: string): string {
  return file.replace(/^\.\//, "");
}
