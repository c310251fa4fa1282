// The output of a command: colours become spans, a carriage return restarts the line, other control sequences are
// dropped. Text is set as text.

import { h } from "../dom.ts";

const COLOURS = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];
// Control sequences, operating system commands, other escapes, and the controls that do not print.
const PIECES = /\x1b\[([0-9;:]*)([ -/]*[@-~])|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[PX^_][^\x1b]*\x1b\\|\x1b[ -/]*[0-~]|[\x00-\x07\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f]/g;
// A sequence that has not arrived whole yet.
const UNFINISHED = /\x1b(?:\[[0-9;:]*[ -/]*|\][^\x07\x1b]*\x1b?|[PX^_][^\x1b]*\x1b?|[ -/]*)?$/;
const LONGEST_KEPT = 200_000;

interface Style {
  bold: boolean;
  dim: boolean;
  italic: boolean;
  underline: boolean;
  colour: string | null;
}

const PLAIN: Style = { bold: false, dim: false, italic: false, underline: false, colour: null };

export class TerminalText {
  readonly root: HTMLElement;
  #pending = "";
  #style: Style = { ...PLAIN };
  #line: HTMLElement[] = [];
  #length = 0;
  #returned = false;

  constructor() {
    this.root = h("pre", { class: "terminal", tabIndex: 0 });
  }

  append(text: string): void {
    let given = this.#pending + text;
    const rest = UNFINISHED.exec(given);
    this.#pending = rest && rest[0].length < 4096 ? rest[0] : "";
    if (this.#pending) given = given.slice(0, rest?.index);
    let from = 0;
    for (const piece of given.matchAll(PIECES)) {
      this.#print(given.slice(from, piece.index));
      if (piece[2] === "m") this.#restyle(piece[1] ?? "");
      from = piece.index + piece[0].length;
    }
    this.#print(given.slice(from));
    this.#forget();
  }

  #print(text: string): void {
    for (const part of text.split(/(\r\n|\n|\r)/)) {
      if (part === "") continue;
      if (part === "\r") this.#returned = true;
      else if (part.endsWith("\n")) this.#end();
      else this.#add(part);
    }
  }

  #add(text: string): void {
    if (this.#returned) {
      this.#line.forEach((span) => span.remove());
      this.#line = [];
      this.#returned = false;
    }
    this.#put(text, this.#classes());
  }

  #end(): void {
    this.#returned = false;
    this.#put("\n", "");
    this.#line = [];
  }

  #put(text: string, classes: string): void {
    const span = h("span", classes ? { class: classes } : {}, text);
    this.#line.push(span);
    this.#length += text.length;
    this.root.append(span);
  }

  /** What is furthest back is forgotten, so that a page can watch a build for hours. */
  #forget(): void {
    while (this.#length > LONGEST_KEPT && this.root.childElementCount > 1) {
      const first = this.root.firstElementChild;
      this.#length -= first?.textContent?.length ?? 0;
      first?.remove();
    }
  }

  #classes(): string {
    const { colour, ...flags } = this.#style;
    const names: (string | null)[] = (Object.keys(flags) as (keyof typeof flags)[]).filter((name) => flags[name]);
    return [...names, colour].filter(Boolean).map((name) => `sgr-${name}`).join(" ");
  }

  #restyle(codes: string): void {
    const numbers = codes.split(/[;:]/).map(Number);
    for (let at = 0; at < numbers.length; at += 1) {
      const code = numbers[at] ?? 0;
      if (code === 0) this.#style = { ...PLAIN };
      else if (code === 1) this.#style.bold = true;
      else if (code === 2) this.#style.dim = true;
      else if (code === 3) this.#style.italic = true;
      else if (code === 4) this.#style.underline = true;
      else if (code === 22) this.#style.bold = this.#style.dim = false;
      else if (code === 23) this.#style.italic = false;
      else if (code === 24) this.#style.underline = false;
      else if (code >= 30 && code <= 37) this.#style.colour = COLOURS[code - 30] ?? null;
      else if (code >= 90 && code <= 97) this.#style.colour = COLOURS[code - 90] ?? null;
      else if (code === 39) this.#style.colour = null;
      else if (code === 38 || code === 48) at += numbers[at + 1] === 5 ? 2 : 4; // a palette's or a direct colour
    }
  }
}
