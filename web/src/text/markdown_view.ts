// A growing Markdown text on the page: only the blocks that change are made again, code is highlighted in a worker,
// formulas are drawn by the browser.

import { h } from "../dom.ts";
import "../thread/messages.css";
import "./highlighting.css";
import { blocksOf, element, type Block } from "./markdown.ts";

const LONGEST = 100_000;
const LONGEST_CODE = 50_000;

export class MarkdownView {
  readonly root: HTMLElement;
  #text = "";
  /** The blocks that are shown, and how much of the text those before the last one are. */
  #blocks: Block[] = [];
  #settled = 0;
  #ended = false;

  constructor(root: HTMLElement) {
    this.root = root;
  }

  /** Show the text; `ended`: it does not grow any more. */
  show(text: string, ended = true): void {
    if (text === this.#text && ended === this.#ended) return;
    const goesOn = text.startsWith(this.#text) && !(ended && /^ {0,3}\[[^\]]+\]:/m.test(text));
    if (!goesOn) this.#restart();
    this.#text = text;
    this.#ended = ended;
    const rest = text.slice(this.#settled);
    // What is made to be slow to read is shown as it is.
    const blocks: Block[] = rest.length > LONGEST ? [{ raw: rest, kind: "plain", token: null }] : blocksOf(rest);
    const kept = this.#blocks.length;
    let same = 0;
    while (same < blocks.length - 1 && this.#tail[same] === blocks[same]?.raw) same += 1;
    while (this.root.childNodes.length > kept + same) this.root.lastChild?.remove();
    for (const block of blocks.slice(same)) this.root.append(element(block));
    this.#settle(blocks, ended);
  }

  /** The sources of the blocks after the settled ones, as they are shown. */
  #tail: string[] = [];

  #restart(): void {
    this.root.replaceChildren();
    this.#blocks = [];
    this.#tail = [];
    this.#settled = 0;
  }

  #settle(blocks: Block[], ended: boolean): void {
    // The last block can still become another one; those before it can not.
    const done = ended ? blocks.length : Math.max(0, blocks.length - 1);
    const from = this.#blocks.length;
    blocks.slice(0, done).forEach((block, at) => finish(this.root.children[from + at] as HTMLElement | undefined, block));
    this.#blocks.push(...blocks.slice(0, done));
    this.#settled += blocks.slice(0, done).reduce((sum, block) => sum + block.raw.length, 0);
    this.#tail = blocks.slice(done).map((block) => block.raw);
  }
}

/** Show a whole text. */
export function showMarkdown(root: HTMLElement, text: string): void {
  new MarkdownView(root).show(text);
}

/** A block that does not change any more: mark its code, draw its formulas. */
function finish(root: HTMLElement | undefined, { kind }: Block): void {
  if (!root) return;
  for (const code of root.querySelectorAll<HTMLElement>("pre > code")) void mark(code);
  const formulas = [...root.querySelectorAll<HTMLElement>("code.maths")];
  if (root.matches("code.maths")) formulas.push(root);
  if (formulas.length && kind !== "plain") void draw(formulas);
}

async function mark(code: HTMLElement): Promise<void> {
  const language = /(?:^|\s)language-([\w+#-]+)/.exec(code.className)?.[1];
  const text = code.textContent ?? "";
  if (!language || text.length > LONGEST_CODE) return;
  try {
    const { highlight, pieces } = await import("./highlighting.ts");
    const found = await highlight(text, language.toLowerCase());
    if (found && code.textContent === text) code.replaceChildren(pieces(found));
  } catch {
    // It stays as it is written.
  }
}

async function draw(formulas: HTMLElement[]): Promise<void> {
  try {
    const { formula } = await import("./mathematics.ts");
    for (const place of formulas) {
      const tex = place.textContent ?? "";
      const display = place.classList.contains("display");
      const drawn = h(display ? "div" : "span", { class: display ? "formula display" : "formula" });
      formula(drawn, tex, display);
      place.replaceWith(drawn);
    }
  } catch {
    // They stay as they are written.
  }
}
