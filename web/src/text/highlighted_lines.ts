// A text as highlighted lines.

import { highlight, type Marked } from "./highlighting.ts";
import { languageOf } from "./languages.ts";
import "./highlighting.css";

/** A longer text is shown as it is. */
const MOST = 400_000;

/** Return the pieces of each line of a file, null where nothing is known to mark. */
export async function highlightedLines(text: string, path: string): Promise<Marked[] | null> {
  const language = languageOf(path);
  if (!language || text.length > MOST) return null;
  const found = await highlight(text, language);
  return found && lines(found);
}

function lines(found: Marked): Marked[] {
  const made: Marked[] = [[]];
  for (const [classes, text] of found) {
    text.split("\n").forEach((part, index) => {
      if (index) made.push([]);
      if (part) made.at(-1)?.push([classes, part]);
    });
  }
  return made;
}
