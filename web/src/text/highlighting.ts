// Code with its words marked by classes. A worker finds them, so that a long text does not stop the page.

import { ownScript } from "../policies.ts";
import address from "./highlighting_worker.ts?worker&url";

/** Pieces of a text, in order: the classes of a piece, and the piece. */
export type Marked = [classes: string, text: string][];

let worker: Worker | null = null;
let last = 0;
const waiting = new Map<number, (found: Marked | null) => void>();

/** Return the pieces of `text`, null for a language that is not known. */
export function highlight(text: string, language: string): Promise<Marked | null> {
  worker ??= begun();
  last += 1;
  const id = last;
  return new Promise((done) => {
    waiting.set(id, done);
    worker?.postMessage({ id, text, language });
  });
}

export function pieces(found: Marked): DocumentFragment {
  const made = document.createDocumentFragment();
  for (const [classes, text] of found) {
    if (!classes) {
      made.append(text);
      continue;
    }
    const piece = document.createElement("span");
    piece.className = classes;
    piece.textContent = text;
    made.append(piece);
  }
  return made;
}

function begun(): Worker {
  const made = new Worker(ownScript(address), { type: "module", name: "highlighting" });
  made.onmessage = ({ data }: MessageEvent<{ id: number; found: Marked | null }>) => {
    waiting.get(data.id)?.(data.found);
    waiting.delete(data.id);
  };
  made.onerror = () => {
    made.terminate();
    worker = null;
    for (const done of waiting.values()) done(null);
    waiting.clear();
  };
  return made;
}
