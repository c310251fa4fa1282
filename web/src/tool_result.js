// The result of a tool: named values, lists line by line, and the text below them.

import { h } from "./dom.js";

/** A result is one line of JSON, and then a text of its own where the tool has one. What it only repeats of
 * the arguments, and what is empty, is left out. Where the text was seen as it came, with its colours
 * (`live`, a TerminalText, or nothing), it stays so. No part is shown with more than `limit.most` characters;
 * `limit.cut` becomes true when one has more. */
export function result(content, given, live, limit) {
  const end = content.indexOf("\n");
  const head = named(content);
  if (head === null) return h("pre", { tabIndex: 0 }, shortened(content, limit));
  const entries = Object.entries(head).filter(([key, value]) => value !== "" && given?.[key] !== value);
  const [lists, rest] = [entries.filter(([, value]) => isList(value)), entries.filter(([, value]) => !isList(value))];
  return [
    rest.length ? table(rest.map(([key, value]) => [key, shortened(worded(value), limit)])) : null,
    lists.map(([key, value]) => [h("h5", {}, key), h("pre", { tabIndex: 0 }, shortened(value.map(line).join("\n"), limit))]),
    end === -1 ? null : body(content.slice(end + 1), live, limit),
  ];
}

/** Return the named values of a result, null where it has none. */
export function named(content) {
  return parsed(content.split("\n", 1)[0]);
}

/** Where the rest of it can be read: `address` is that of the message. */
export function whole(what, address) {
  const link = h("a", { href: address, target: "_blank", rel: "noopener" }, "Open the whole message");
  return h("p", { class: "quiet" }, `The ${what} is longer than what is shown here. `, link);
}

/** Names and their values in two columns. */
export function table(entries) {
  return h("dl", { class: "pairs" }, entries.map(([key, value]) => [h("dt", {}, key), h("dd", {}, worded(value))]));
}

function worded(value) {
  return typeof value === "string" ? value : JSON.stringify(value);
}

function shortened(text, limit) {
  if (text.length <= limit.most) return text;
  limit.cut = true;
  return `${text.slice(0, limit.most)}\n…`;
}

function body(text, live, limit) {
  // A page that was opened late has seen only the end of it.
  if (live && live.root.textContent.trim() === text.trim()) return live.root;
  return h("pre", { tabIndex: 0 }, shortened(text, limit));
}

function isList(value) {
  return Array.isArray(value) && value.length > 0;
}

/** One entry of a list; a match in a file is written as `file:line: text`, with the lines around it. */
function line(entry) {
  if (typeof entry === "string") return entry;
  if (typeof entry?.file !== "string") return JSON.stringify(entry);
  const { file, line: number, content, count, context_before: before = [], context_after: after = [] } = entry;
  if (typeof number !== "number") return typeof count === "number" ? `${file}: ${count}` : file;
  const around = (lines, first) => lines.map((text, index) => `${file}-${first + index}- ${text}`);
  const last = entry.end_line ?? number;
  const found = `${file}:${number}: ${content ?? "(not shown)"}`;
  return [...around(before, number - before.length), found, ...around(after, last + 1)].join("\n");
}

function parsed(text) {
  if (!text.startsWith("{")) return null;
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
