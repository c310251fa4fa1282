// One tool call: a summary line, with arguments and result behind it.

import { h, replace } from "./dom.js";
import { duration, firstLine } from "./format.js";
import { TerminalText } from "./terminal_text.js";
import { named, result, table, whole } from "./tool_result.js";

const TELLING = ["pattern", "path", "file", "query", "script", "expression", "expand", "command", "title", "name", "url"];
const ICONS = { running: "◌", waiting: "?", done: "✓", unsuccessful: "!", failed: "✕" };
const OPEN_AT_ONCE = new Set(["edit.text", "edit"]);
const LONGEST_SHOWN = 20_000;

export class ToolCard {
  constructor({ id, name, arguments: given }) {
    this.id = id;
    this.given = given;
    this.icon = h("span", { class: "tool-icon", "aria-hidden": "true" });
    this.time = h("span", { class: "quiet tool-time" });
    this.outcome = h("span", { class: "visually-hidden" });
    this.result = h("div", { class: "tool-result" });
    this.root = h(
      "details",
      { class: "tool", data: { tool: name }, open: OPEN_AT_ONCE.has(name) },
      h("summary", {}, this.icon, h("strong", {}, name), h("span", { class: "tool-about" }, about(given)), this.time, this.outcome),
      argumentsOf(name, given),
      this.result,
    );
    this.#set("running", "is running");
  }

  /** The call waits for a person's answer, which is not bound to its run. */
  wait() {
    this.waiting = true;
    this.#set("waiting", "waits for an answer");
  }

  /** Show what a person answered, as an element, before what the agent sent and got; `open`: it is
   * what one looks for at this call. */
  answered(shown, { open }) {
    this.root.querySelector(":scope > .answered")?.remove();
    this.root.querySelector("summary").after(shown);
    if (!open) return;
    this.root.open = true;
    this.raw ??= h("details", { class: "tool-raw" }, h("summary", { class: "quiet" }, "Raw call and result"), [...this.root.querySelectorAll(":scope > :is(.tool-arguments, .tool-result)")]);
    this.root.append(this.raw);
  }

  /** Show what the tool says while it works: each text goes on where the last one ended. */
  progress(text) {
    if (!this.live) {
      this.live = new TerminalText();
      this.root.open = true;
      replace(this.result, h("h4", {}, "Output"), this.live.root);
    }
    const { root } = this.live;
    const atEnd = root.scrollHeight - root.scrollTop - root.clientHeight < 20;
    this.live.append(text);
    if (atEnd) root.scrollTop = root.scrollHeight;
  }

  finish({ content, isError, durationMs, contentRef }) {
    this.waiting = false;
    const code = isError ? 0 : exitCode(content);
    if (isError) this.#set("failed", "failed");
    else if (code) this.#set("unsuccessful", `ended with exit code ${code}`);
    else this.#set("done", "done");
    this.time.textContent = duration(durationMs);
    const rest = contentRef ? whole("result", contentRef) : null;
    this.#show(content, { title: isError ? "Error" : "Result", rest, most: LONGEST_SHOWN });
  }

  #show(content, { title, rest, most }) {
    const limit = { most, cut: false };
    const shown = result(content, this.given, this.live, limit);
    const all = () => {
      this.#show(content, { title, rest, most: Infinity });
      this.result.querySelector("pre")?.focus({ preventScroll: true });
    };
    const more = limit.cut ? h("button", { type: "button", class: "link", data: { act: "all" }, onclick: all }, "Show all") : null;
    replace(this.result, h("h4", {}, title), shown, more, rest);
  }

  /** The call will get no result any more. */
  abandon() {
    if (this.root.dataset.state === "running") this.#set("failed", "has no result");
  }

  #set(state, words) {
    this.root.dataset.state = state;
    this.icon.textContent = ICONS[state];
    this.outcome.textContent = words;
  }
}

/** Return the exit code of a command's result: the call succeeded, but its command may have failed. */
function exitCode(content) {
  const code = named(content ?? "")?.exit_code;
  return Number.isInteger(code) ? code : 0;
}

function about(given) {
  if (typeof given !== "object" || given === null) return firstLine(given ?? "");
  const { action, ...rest } = given;
  const name = TELLING.find((key) => typeof rest[key] === "string");
  const value = name ? rest[name] : Object.values(rest).find((entry) => typeof entry === "string");
  return firstLine([action, value].filter((entry) => typeof entry === "string").join(" "), 80);
}

function argumentsOf(name, given) {
  if (typeof given !== "object" || given === null) return block("Arguments", String(given ?? ""));
  if (typeof given.old_string === "string" && typeof given.new_string === "string") return change(given);
  const texts = Object.entries(given).filter(([, value]) => isLong(value));
  const rest = Object.entries(given).filter(([, value]) => !isLong(value));
  return h(
    "div",
    { class: "tool-arguments" },
    h("h4", {}, "Arguments"),
    rest.length ? table(rest) : null,
    texts.map(([key, value]) => [h("h5", {}, key), h("pre", { tabIndex: 0 }, value)]),
    rest.length + texts.length ? null : h("p", { class: "quiet" }, "none"),
  );
}

function isLong(value) {
  return typeof value === "string" && (value.includes("\n") || value.length > 120);
}

function change(given) {
  const lines = (text, kind, mark) =>
    text.split("\n").map((line) => h("span", { class: kind }, h("span", {}, mark), line));
  const { old_string: before, new_string: after, ...rest } = given;
  return h(
    "div",
    { class: "tool-arguments" },
    h("h4", {}, "Change"),
    table(Object.entries(rest)),
    h("pre", { class: "change", tabIndex: 0 }, lines(before, "removed", "− "), lines(after, "added", "+ ")),
  );
}

function block(title, text) {
  return h("div", { class: "tool-arguments" }, h("h4", {}, title), h("pre", { tabIndex: 0 }, text));
}
