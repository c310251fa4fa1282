// Two texts side by side, as the lines of a change.

import { structuredPatch } from "diff";

/** So many lines stand around a change. */
export const AROUND = 3;

export interface Line {
  kind: "same" | "added" | "removed" | "gap";
  text: string;
  before: number | null;
  after: number | null;
}

export interface Edit {
  path: string;
  added: number;
  removed: number;
  lines: Line[];
}

/** Compare two texts; `first` is the number of their first line, null when it is not known. */
export function compared(path: string, before: string, after: string, first: number | null): Edit {
  const ended = (text: string) => (text === "" || text.endsWith("\n") ? text : `${text}\n`);
  const patch = structuredPatch(path, path, ended(before), ended(after), "", "", { context: AROUND });
  const lines: Line[] = [];
  for (const hunk of patch.hunks) {
    if (lines.length) lines.push({ kind: "gap", text: "", before: null, after: null });
    let [left, right] = [hunk.oldStart, hunk.newStart];
    for (const one of hunk.lines) {
      if (one.startsWith("\\")) continue;
      const kind = one.startsWith("+") ? "added" : one.startsWith("-") ? "removed" : "same";
      const number = (line: number) => (first === null ? null : line + first - 1);
      lines.push({ kind, text: one.slice(1), before: kind === "added" ? null : number(left), after: kind === "removed" ? null : number(right) });
      if (kind !== "added") left += 1;
      if (kind !== "removed") right += 1;
    }
  }
  const count = (kind: Line["kind"]) => lines.filter((line) => line.kind === kind).length;
  return { path, added: count("added"), removed: count("removed"), lines };
}
