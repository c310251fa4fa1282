// Markdown to elements: the subset that models write. HTML in a text stays text, images are never loaded,
// and only http, https and mailto become links.

import { h } from "./dom.js";
import { inline } from "./markdown_inline.js";

const LONGEST_BLOCK = 100_000;
const DEEPEST = 6;

// Each pattern takes a time that grows with the line, not with its square: a text may be made to be slow.
const FENCE = /^ {0,3}(`{3,}|~{3,}(?!~))[^`]*$/;
const HEADING = /^ {0,3}(#{1,6})\s(.*)$/s;
const RULE = /^ {0,3}([-*_])(\s*\1){2,}\s*$/;
const QUOTE = /^ {0,3}> ?/;
const ITEM = /^( {0,3})([-*+]|\d{1,9}[.)])(\s+|$)/;
const TABLE_RULE = /^\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?$/;

/** Shows a growing text inside `root`: only changed blocks are built again. */
export class MarkdownView {
  #sources = [];

  constructor(root) {
    this.root = root;
  }

  show(text) {
    const blocks = blocksOf(text.split("\n"));
    let same = 0;
    while (same < blocks.length && this.#sources[same] === sourceOf(blocks[same])) same += 1;
    while (this.root.childNodes.length > same) this.root.lastChild.remove();
    for (const block of blocks.slice(same)) this.root.append(element(block, 0));
    this.#sources = blocks.map(sourceOf);
  }
}

function sourceOf(block) {
  return `${block.kind}\n${block.lines.join("\n")}`;
}

/** Return the blocks of `lines`: `{kind, lines, ...}`. An unclosed fence reaches to the end. */
function blocksOf(lines) {
  const blocks = [];
  let at = 0;
  while (at < lines.length) {
    if (!lines[at].trim()) {
      at += 1;
      continue;
    }
    const block = blockAt(lines, at);
    blocks.push(block);
    at = block.end;
  }
  return blocks;
}

function blockAt(lines, start) {
  const line = lines[start];
  if (FENCE.test(line)) return fenceAt(lines, start);
  if (HEADING.test(line)) return { kind: "heading", lines: [line], end: start + 1 };
  if (RULE.test(line)) return { kind: "rule", lines: [line], end: start + 1 };
  if (QUOTE.test(line)) return runAt("quote", lines, start, (text) => text.trim() && !startsBlock(text, QUOTE));
  if (ITEM.test(line)) return listAt(lines, start);
  if (isTable(lines, start)) return runAt("table", lines, start, (text) => text.includes("|"));
  const end = (at) => at < lines.length && lines[at].trim() && !startsBlock(lines[at]) && !isTable(lines, at);
  let at = start + 1;
  while (end(at)) at += 1;
  return { kind: "paragraph", lines: lines.slice(start, at), end: at };
}

function startsBlock(line, except = null) {
  return [FENCE, HEADING, RULE, QUOTE, ITEM].some((pattern) => pattern !== except && pattern.test(line));
}

function isTable(lines, at) {
  return lines[at].includes("|") && at + 1 < lines.length && lines[at + 1].includes("-") && TABLE_RULE.test(lines[at + 1].trim());
}

function runAt(kind, lines, start, goesOn) {
  let at = start + 1;
  while (at < lines.length && goesOn(lines[at])) at += 1;
  return { kind, lines: lines.slice(start, at), end: at };
}

function fenceAt(lines, start) {
  const [, mark] = FENCE.exec(lines[start]);
  let at = start + 1;
  const closes = (line) => line.trim().startsWith(mark) && /^[`~]+$/.test(line.trim());
  while (at < lines.length && !closes(lines[at])) at += 1;
  return { kind: "code", lines: lines.slice(start, at + 1), code: lines.slice(start + 1, at), end: at + 1 };
}

function listAt(lines, start) {
  const ordered = isOrdered(lines[start]);
  let at = start + 1;
  while (at < lines.length) {
    const line = lines[at];
    const next = ITEM.exec(line);
    if (RULE.test(line)) break;
    if (next && isOrdered(line) !== ordered) break;
    if (!next && line.trim() && !line.startsWith("  ") && (!lines[at - 1].trim() || startsBlock(line))) break;
    at += 1;
  }
  while (!lines[at - 1].trim()) at -= 1;
  return { kind: "list", ordered, lines: lines.slice(start, at), end: at };
}

function isOrdered(line) {
  return /\d/.test(ITEM.exec(line)?.[2] ?? "");
}

function element(block, depth) {
  const text = block.lines.join("\n");
  if (depth > DEEPEST || text.length > LONGEST_BLOCK) return h("pre", {}, text);
  switch (block.kind) {
    case "code":
      return codeBlock(block);
    case "heading": {
      const [, marks, rest] = HEADING.exec(block.lines[0]);
      const title = rest.trim().replace(/(?<!\S)#+$/, "").trim();
      // The page's own title is the first level.
      return h(`h${Math.min(marks.length + 1, 6)}`, {}, inline(title));
    }
    case "rule":
      return h("hr");
    case "quote":
      return h("blockquote", {}, inner(block.lines.map((line) => line.replace(QUOTE, "")), depth));
    case "list":
      return list(block, depth);
    case "table":
      return table(block.lines);
    default:
      return h("p", {}, inline(text.trim()));
  }
}

function inner(lines, depth) {
  return blocksOf(lines).map((block) => element(block, depth + 1));
}

function codeBlock(block) {
  const code = block.code.join("\n");
  const copy = h("button", { type: "button", class: "copy" }, "Copy");
  copy.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(code);
      copy.textContent = "Copied";
    } catch {
      copy.textContent = "Not allowed";
    }
  });
  return h("div", { class: "code" }, h("pre", { tabIndex: 0 }, h("code", {}, code)), copy);
}

function list(block, depth) {
  const items = [];
  for (const line of block.lines) {
    const found = ITEM.exec(line);
    if (found) items.push({ width: found[0].length, lines: [line.slice(found[0].length)] });
    else items.at(-1).lines.push(dedented(line, items.at(-1).width));
  }
  const first = Number.parseInt(block.lines[0].trim(), 10);
  return h(
    block.ordered ? "ol" : "ul",
    { dir: "auto", start: block.ordered && first !== 1 ? first : undefined },
    items.map((item) => h("li", {}, itemContent(item.lines, depth))),
  );
}

function itemContent(lines, depth) {
  const blocks = blocksOf(lines);
  const [first, ...rest] = blocks;
  if (first?.kind !== "paragraph") return inner(lines, depth);
  // The usual item is one line: it gets no paragraph of its own.
  return [inline(first.lines.join("\n").trim()), ...rest.map((block) => element(block, depth + 1))];
}

function dedented(line, width) {
  let at = 0;
  while (at < width && line[at] === " ") at += 1;
  return line.slice(at);
}

function table(lines) {
  const [head, rule, ...rows] = lines.map(cells);
  const align = rule.map((cell) => (cell.endsWith(":") ? (cell.startsWith(":") ? "center" : "right") : ""));
  const cell = (kind, value, column) => h(kind, { data: { align: align[column] ?? "" } }, inline(value));
  // What a short row lacks is one cell: thousands of short rows below thousands of columns would be millions.
  const rest = (values) => (values.length < head.length ? h("td", { colSpan: head.length - values.length }) : null);
  const row = (kind, values) => h("tr", {}, values.slice(0, head.length).map((value, column) => cell(kind, value, column)), rest(values));
  return h(
    "div",
    { class: "table", tabIndex: 0 },
    h("table", {}, h("thead", {}, row("th", head)), h("tbody", {}, rows.map((values) => row("td", values)))),
  );
}

function cells(line) {
  const body = line.trim().replace(/^\|/, "").replace(/(^|[^\\])\|$/, "$1");
  return body.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"));
}
