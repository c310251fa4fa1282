// The lines of a hunk as they are shown: one below the other, or the old beside the new ones.

import type { Schemas } from "../workspace/types.ts";

export type Hunk = Schemas["HunkAnswer"];

export interface Line {
  sign: " " | "-" | "+" | "\\";
  text: string;
  before: number | null;
  after: number | null;
}

export interface Pair {
  before: Line | null;
  after: Line | null;
}

/** Return the lines with their numbers in the old and in the new file. */
export function linesOf(hunk: Hunk): Line[] {
  let before = hunk.old_start;
  let after = hunk.new_start;
  return hunk.lines.map(([sign, text]) => ({
    sign,
    text,
    before: sign === " " || sign === "-" ? before++ : null,
    after: sign === " " || sign === "+" ? after++ : null,
  }));
}

/** Return the lines side by side: what was removed beside what came in its place. */
export function pairsOf(lines: Line[]): Pair[] {
  const pairs: Pair[] = [];
  let removed: Line[] = [];
  let added: Line[] = [];
  const close = () => {
    for (let at = 0; at < Math.max(removed.length, added.length); at += 1) pairs.push({ before: removed[at] ?? null, after: added[at] ?? null });
    removed = [];
    added = [];
  };
  let last: Line["sign"] = " ";
  for (const line of lines) {
    if (line.sign === "-" || (line.sign === "\\" && last === "-")) {
      if (line.sign === "-" && added.length) close();
      removed.push(line);
    } else if (line.sign === "+" || (line.sign === "\\" && last === "+")) {
      added.push(line);
    } else {
      close();
      pairs.push({ before: line, after: line });
    }
    if (line.sign !== "\\") last = line.sign;
  }
  close();
  return pairs;
}

/** Return the first line of the new file that a hunk changes: what its address names. */
export function lineOf(hunk: Hunk): number {
  const unchanged = hunk.lines.findIndex(([sign]) => sign !== " ");
  return Math.max(1, hunk.new_start + Math.max(0, unchanged));
}

/** Return the hunk that has a line of the new file, else the nearest one. */
export function hunkAt(hunks: readonly Hunk[], line: number): Hunk | null {
  const away = ({ new_start: start, new_lines: count }: Hunk) => Math.max(start - line, line - (start + Math.max(count, 1) - 1), 0);
  return hunks.reduce<Hunk | null>((nearest, one) => (nearest && away(nearest) <= away(one) ? nearest : one), null);
}

/** Return a hunk as a quotation for the agent: where it is, and its lines. */
export function quotation(path: string, hunk: Hunk): string {
  const last = hunk.new_start + Math.max(hunk.new_lines, 1) - 1;
  const lines = hunk.lines.slice(0, MOST_QUOTED).map(([sign, text]) => `${sign}${text.replace(/\r$/, "")}`);
  if (hunk.lines.length > MOST_QUOTED) lines.push(`(${hunk.lines.length - MOST_QUOTED} more lines)`);
  const longest = Math.max(2, ...lines.flatMap((line) => [...line.matchAll(/`+/g)].map(([ticks]) => ticks.length)));
  const fence = "`".repeat(longest + 1);
  const where = hunk.new_lines > 1 ? `lines ${hunk.new_start}–${last}` : `line ${hunk.new_start}`;
  return `About ${JSON.stringify(path)}, ${where}:\n\n${fence}diff\n${lines.join("\n")}\n${fence}`;
}

const MOST_QUOTED = 200;
