// What was reverted of a session, for the cards of edits: read when the first card asks, and again when files change.

import type { Schemas } from "../../workspace/types.ts";
import type { SessionStore } from "../session.svelte.ts";
import type { Line } from "./compared.ts";

type Revert = Schemas["RevertAnswer"] & { lines?: [string, string][][] | null };

/** What a call has written to a file, and when; `lines` are empty when they are not known. */
export interface Written {
  path: string;
  at: string;
  lines: Line[];
}

/** What became of it: `whole` when nothing of it is left. */
export interface Reverted {
  revert: Revert;
  whole: boolean;
}

class Reverts {
  items = $state.raw<Revert[]>([]);
  readonly #store: SessionStore;
  #turn = 0;

  constructor(store: SessionStore) {
    this.#store = store;
  }

  async read(): Promise<void> {
    this.#turn += 1;
    const turn = this.#turn;
    // Cards offer what they offer without it.
    const items = await this.#store.actions.reverts().catch(() => null);
    if (items && turn === this.#turn) this.items = items;
  }
}

const known = new WeakMap<SessionStore, { reverts: Reverts; seen: number }>();

/** Return the reverts of a session. They are read again when more has changed than at the last time. */
export function revertsOf(store: SessionStore): Reverts {
  const found = known.get(store) ?? { reverts: new Reverts(store), seen: -1 };
  known.set(store, found);
  if (found.seen !== store.filesChanged) {
    found.seen = store.filesChanged;
    void found.reverts.read();
  }
  return found.reverts;
}

/** Return what was reverted of what a call has written, null when all of it stands. */
export function revertedOf(reverts: Revert[], written: Written): Reverted | null {
  const path = plain(written.path);
  const later = reverts.filter((one) => one.undone_at === null && [one.path, ...one.files].includes(path) && Date.parse(one.created_at) >= Date.parse(written.at));
  const all = later.find((one) => one.hunks === null && one.since === "start");
  const blocks = blocksOf(written.lines);
  const taken = blocks.map((block) => later.find((one) => one.lines?.some((hunk) => holds(hunk, block))));
  const [newest] = taken.filter((one) => one !== undefined).sort((one, other) => Date.parse(other.created_at) - Date.parse(one.created_at));
  if (newest && (!all || later.indexOf(newest) < later.indexOf(all))) return { revert: newest, whole: Boolean(all) || taken.every(Boolean) };
  return all ? { revert: all, whole: true } : null;
}

function plain(path: string): string {
  return path.replace(/^\.\//, "");
}

/** Lines that are changed together, with the line above and the line below. */
interface Block {
  lines: string[];
  /** The side of a difference that they stand on. */
  sign: "+" | "-";
  above: string | null;
  below: string | null;
}

function blocksOf(lines: Line[]): Block[] {
  const found: Block[] = [];
  for (let at = 0; at < lines.length; ) {
    const from = at;
    while (isChanged(lines[at])) at += 1;
    if (at > from) {
      const changed = lines.slice(from, at);
      const kind = changed.some((line) => line.kind === "added") ? "added" : "removed";
      found.push({ lines: changed.filter((line) => line.kind === kind).map((line) => line.text), sign: kind === "added" ? "+" : "-", above: textOf(lines[from - 1]), below: textOf(lines[at]) });
    }
    at += 1;
  }
  return found;
}

const isChanged = (line: Line | undefined) => line?.kind === "added" || line?.kind === "removed";
const textOf = (line: Line | undefined) => (line?.kind === "same" ? line.text : null);

/** Tell whether a reverted hunk has these lines where they were written: the same lines may stand elsewhere, too. */
function holds(hunk: [string, string][], { lines, sign, above, below }: Block): boolean {
  const side = hunk.filter(([one]) => one === sign || one === " ");
  const isAround = (at: number, text: string | null) => text === null || side[at] === undefined || same(side[at][1], text);
  for (let at = 0; at + lines.length <= side.length; at += 1) {
    const fits = lines.every((line, offset) => side[at + offset]?.[0] === sign && same(side[at + offset]?.[1] ?? "", line));
    if (fits && (isAround(at - 1, above) || isAround(at + lines.length, below))) return true;
  }
  return false;
}

/** An edit may name a part of a line. */
function same(line: string, part: string): boolean {
  return line === part || (part.trim().length > 0 && line.includes(part));
}
