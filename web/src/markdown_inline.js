// The inside of a Markdown block: code, emphasis, links. Everything else is text.

import { h } from "./dom.js";

const SPECIAL = /[\\`*_~[]|https?:\/\//g;
const PUNCTUATION = /[!-/:-@[-`{-~]/;
const LINK = /\[([^[\]]*)\]\(([^()\s]*)\)/y;
const ADDRESS = /https?:\/\/[^\s<>()"'`]+/y;
const WORD = /[\p{L}\p{N}]/u;
const SAFE = /^(https?:\/\/|mailto:)/i;
const FARTHEST = 2000;
const DEEPEST = 6;
const TAGS = { "**": "strong", __: "strong", "*": "em", _: "em", "~~": "del" };

/** Return the nodes of `text`. */
export function inline(text, depth = 0) {
  if (depth > DEEPEST) return [text];
  const nodes = [];
  let plainFrom = 0;
  let at = 0;
  while (at < text.length) {
    SPECIAL.lastIndex = at;
    const special = SPECIAL.exec(text);
    if (special === null) break;
    at = special.index;
    const found = tokenAt(text, at, depth);
    if (found === null) {
      at += special[0].length;
      continue;
    }
    if (at > plainFrom) nodes.push(text.slice(plainFrom, at));
    nodes.push(found.node);
    at = plainFrom = found.end;
  }
  if (plainFrom < text.length) nodes.push(text.slice(plainFrom));
  return nodes;
}

function tokenAt(text, at, depth) {
  switch (text[at]) {
    case "\\":
      return PUNCTUATION.test(text[at + 1] ?? "") ? { node: text[at + 1], end: at + 2 } : null;
    case "`":
      return codeAt(text, at);
    case "[":
      return linkAt(text, at, depth);
    case "h":
      return addressAt(text, at);
    default:
      return emphasisAt(text, at, depth);
  }
}

function codeAt(text, at) {
  let width = 1;
  while (text[at + width] === "`") width += 1;
  const mark = "`".repeat(width);
  let close = text.indexOf(mark, at + width);
  while (close !== -1 && (text[close + width] === "`" || text[close - 1] === "`")) {
    while (text[close] === "`") close += 1;
    close = text.indexOf(mark, close);
  }
  // Without its end a run of marks is text, as a whole.
  if (close === -1) return { node: mark, end: at + width };
  const inside = text.slice(at + width, close).replaceAll("\n", " ");
  const spaced = inside.length > 2 && inside.startsWith(" ") && inside.endsWith(" ") && inside.trim();
  return { node: h("code", {}, spaced ? inside.slice(1, -1) : inside), end: close + width };
}

function linkAt(text, at, depth) {
  LINK.lastIndex = at;
  const found = LINK.exec(text);
  if (found === null || !SAFE.test(found[2])) return null;
  return { node: link(found[2], inline(found[1], depth + 1)), end: at + found[0].length };
}

function addressAt(text, at) {
  if (at > 0 && WORD.test(text[at - 1])) return null;
  ADDRESS.lastIndex = at;
  const found = ADDRESS.exec(text);
  if (found === null) return null;
  const address = found[0].replace(/(?<![.,;:!?*_~\]])[.,;:!?*_~\]]+$/, "");
  return { node: link(address, [address]), end: at + address.length };
}

function link(address, children) {
  return h("a", { href: address, target: "_blank", rel: "noopener noreferrer nofollow" }, children);
}

function emphasisAt(text, at, depth) {
  const double = text[at] === text[at + 1] ? text.slice(at, at + 2) : null;
  const mark = double ?? text[at];
  const tag = TAGS[mark];
  if (tag === undefined || !opens(text, at, mark)) return null;
  const close = closing(text, at + mark.length, mark);
  if (close === -1) return null;
  const inside = text.slice(at + mark.length, close);
  return { node: h(tag, {}, inline(inside, depth + 1)), end: close + mark.length };
}

function opens(text, at, mark) {
  const after = text[at + mark.length];
  if (after === undefined || /\s/.test(after) || after === mark[0]) return false;
  return mark[0] !== "_" || at === 0 || !WORD.test(text[at - 1]);
}

function closing(text, from, mark) {
  const farthest = Math.min(text.length, from + FARTHEST);
  let at = text.indexOf(mark, from + 1);
  while (at !== -1 && at < farthest) {
    const next = text[at + mark.length];
    const single = mark.length > 1 || (next !== mark && text[at - 1] !== mark);
    const ends = mark[0] !== "_" || next === undefined || !WORD.test(next);
    if (!/\s/.test(text[at - 1]) && single && ends) return at;
    at = text.indexOf(mark, at + 1);
  }
  return -1;
}
