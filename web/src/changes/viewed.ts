// Which changes of a session somebody has looked at: a mark of this browser, which a change that becomes another one loses.

import { keep, keptObject } from "../shell/kept.ts";
import type { Hunk } from "./diff_lines.ts";

/** By session, the newest last: by what it is compared with and the file, the marks of its changes. */
type Marks = Record<string, Record<string, string[]>>;

const NAME = "changes.viewed";
const SESSIONS = 40;

/** Return a mark for each change of a file: it is of the lines, so it stays when those above move them. */
export function marksOf(hunks: Hunk[]): string[] {
  const times = new Map<string, number>();
  return hunks.map((hunk) => {
    const mark = hashed(JSON.stringify(hunk.lines));
    const before = times.get(mark) ?? 0;
    times.set(mark, before + 1);
    return before ? `${mark}-${before}` : mark;
  });
}

export class Viewed {
  readonly #session: string;
  readonly #file: string;

  /** `since` is what the changes are compared with. */
  constructor(session: string, since: string, path: string) {
    this.#session = session;
    this.#file = `${since} ${path}`;
  }

  /** Return those of the marks that are set; others of the file are forgotten. */
  among(marks: string[]): string[] {
    const kept = keptObject<Marks>(NAME, {})[this.#session]?.[this.#file] ?? [];
    const found = kept.filter((mark) => marks.includes(mark));
    if (found.length < kept.length) this.#keep(found);
    return found;
  }

  /** Set or remove a mark, and return those that are set then. */
  mark(marks: string[], mark: string, set: boolean): string[] {
    const others = this.among(marks).filter((one) => one !== mark);
    const found = set ? [...others, mark] : others;
    this.#keep(found);
    return found;
  }

  #keep(found: string[]): void {
    const { [this.#session]: mine = {}, ...others } = keptObject<Marks>(NAME, {});
    const { [this.#file]: _, ...files } = mine;
    const now = found.length ? { ...files, [this.#file]: found } : files;
    const all = [...Object.entries(others), ...(Object.keys(now).length ? [[this.#session, now] as const] : [])];
    keep(NAME, all.length ? JSON.stringify(Object.fromEntries(all.slice(-SESSIONS))) : null);
  }
}

/** A short name for a text (FNV-1a, twice): marks need no secret, and this page may have no `crypto.subtle`. */
function hashed(text: string): string {
  let [one, other] = [0x811c9dc5, 0x01000193];
  for (let at = 0; at < text.length; at += 1) {
    one = Math.imul(one ^ text.charCodeAt(at), 0x01000193);
    other = Math.imul(other ^ text.charCodeAt(text.length - 1 - at), 0x01000193);
  }
  return (one >>> 0).toString(36) + (other >>> 0).toString(36);
}
