// What an edit changed, with the numbers of its lines where the thread tells them: agents read a file before they edit it.

import { Answer, Call } from "../items.svelte.ts";
import type { SessionStore } from "../session.svelte.ts";
import { AROUND, compared, type Edit } from "./compared.ts";
import { parsed } from "./results.ts";

const LONGEST = 400_000;

/** The lines of a file that are known, by number from 1. */
type Known = (string | undefined)[];

/** Return what the call changes, null when its arguments do not say it. */
export function editOf(store: SessionStore, call: Call): Edit | null {
  const { path, content, old_string: old, new_string: made } = call.given ?? {};
  if (typeof path !== "string") return null;
  if (typeof old === "string" && typeof made === "string") {
    if (old.length + made.length > LONGEST) return null;
    const known = knownBefore(store, call, path);
    const at = known && old ? placeOf(known, old) : null;
    return at === null || !known ? compared(path, old, made, null) : located(path, known, at, old, made);
  }
  if (typeof content !== "string" || content.length > LONGEST) return null;
  const known = knownBefore(store, call, path);
  return compared(path, known?.slice(1).join("\n") ?? "", content, 1);
}

/** Return the files that a call wrote and does not show as an edit: a file that got another name by its new one. */
export function writtenBy(call: Call, head: Record<string, any> | null): string[] {
  if (!/rename|action|format/.test(String(call.given?.action ?? ""))) return [];
  const changes: any[] = Array.isArray(head?.["changes"]) ? head["changes"] : [];
  return [...new Set(changes.map((one) => one?.new_path ?? one?.path))].filter((path) => typeof path === "string");
}

function located(path: string, known: Known, at: number, old: string, made: string): Edit {
  const count = old.split("\n").length;
  const text = known.slice(at, at + count).join("\n");
  const before = around(known, at - 1, -1).reverse();
  const after = around(known, at + count, 1);
  const whole = (middle: string) => [...before, middle, ...after].join("\n");
  return compared(path, whole(text), whole(text.replace(old, () => made)), at - before.length);
}

/** Return the lines of a file that are known before a call, from reads and edits that stand above it. */
function knownBefore(store: SessionStore, call: Call, path: string): Known | null {
  let known: Known | null = null;
  for (const one of callsOf(store, call)) {
    if (one === call) return known;
    if (one.state !== "done" || !samePath(one.given?.path, path)) continue;
    known = after(known, one) ?? known;
  }
  return known;
}

function after(known: Known | null, call: Call): Known | null {
  const { content, old_string: old, new_string: made } = call.given;
  if (/read$/.test(call.name)) return read(known, call);
  if (typeof content === "string" && /write|create/.test(call.name)) return ["", ...content.split("\n")];
  if (known === null || typeof old !== "string" || typeof made !== "string") return null;
  const at = placeOf(known, old);
  if (at === null) return null;
  const count = old.split("\n").length;
  const text = known.slice(at, at + count).join("\n").replace(old, () => made);
  return [...known.slice(0, at), ...text.split("\n"), ...known.slice(at + count)];
}

function read(known: Known | null, call: Call): Known {
  const found: Known = [...(known ?? [])];
  for (const line of parsed(call.result?.content ?? "").body.split("\n")) {
    const match = /^(\d{1,7}): ?(.*)$/.exec(line);
    if (match) found[Number(match[1])] = match[2];
  }
  return found;
}

/** Return the number of the line where a text begins, null when it is not known or not unique. */
function placeOf(known: Known, text: string): number | null {
  const wanted = text.split("\n");
  const last = wanted.length - 1;
  const fits = (at: number) =>
    wanted.every((line, offset) => {
      const there = known[at + offset];
      if (there === undefined) return false;
      if (last === 0) return there.includes(line);
      if (offset === 0) return there.endsWith(line);
      return offset === last ? there.startsWith(line) : there === line;
    });
  const places: number[] = [];
  for (let at = 1; at + last < known.length && places.length < 2; at += 1) if (fits(at)) places.push(at);
  return places.length === 1 ? (places[0] ?? null) : null;
}

function around(known: Known, from: number, step: 1 | -1): string[] {
  const found: string[] = [];
  for (let at = from; found.length < AROUND && at >= 1; at += step) {
    const line = known[at];
    if (line === undefined) break;
    found.push(line);
  }
  return found;
}

/** The calls of the agent whose call it is, in order. */
function callsOf(store: SessionStore, call: Call): Call[] {
  for (const thread of store.threads()) {
    const calls = [...thread.items()].flatMap((item) => (item instanceof Answer ? item.calls : []));
    if (calls.includes(call)) return calls;
  }
  return [];
}

function samePath(one: unknown, other: string): boolean {
  const plain = (path: string) => path.replace(/^\.\//, "");
  return typeof one === "string" && plain(one) === plain(other);
}
