// One answer of the model: thinking, text and tool calls in their order.

import { h, oncePerFrame, replace } from "./dom.js";
import { dollars, duration, firstLine, tokens, words } from "./format.js";
import { MarkdownView } from "./markdown.js";
import { ToolCard } from "./tool_card.js";

/** `gap` is true when deltas were missed: the stored text is then read once the answer has ended. */
export class Answer {
  constructor(id, { onCard }) {
    this.id = id;
    this.attempt = 0;
    this.gap = false;
    this.complete = false;
    this.onCard = onCard;
    this.parts = [];
    this.cards = [];
    this.body = h("div", { class: "answer-body" });
    this.footer = h("footer", { class: "quiet" });
    this.root = h("article", { class: "answer", "aria-label": "Agent", data: { id } }, this.body, this.footer);
    this.draw = oncePerFrame(() => this.parts.forEach((part) => part.draw()));
  }

  /** Begin (again): an attempt later than the one shown replaces what was streamed of it. */
  start({ attempt = 1, provider, model }) {
    if (attempt < this.attempt) return;
    if (attempt > this.attempt) this.#clear();
    this.attempt = attempt;
    this.gap = false;
    this.root.dataset.state = "streaming";
    this.named = `${provider}:${model}`;
    this.footer.textContent = this.named;
  }

  delta(kind, text, attempt) {
    if (this.complete || attempt < this.attempt) return;
    if (attempt > this.attempt) this.#clear();
    this.attempt = attempt;
    this.root.dataset.state = "streaming";
    this.#part(kind).add(text);
    this.draw();
  }

  snapshot({ attempt, text, thinking, tool_calls: calls }) {
    if (this.complete) return;
    this.#clear();
    this.attempt = attempt;
    this.gap = false;
    this.root.dataset.state = "streaming";
    if (thinking) this.#part("thinking").add(thinking);
    if (text) this.#part("text").add(text);
    calls.forEach((call) => this.call(call));
    this.draw();
  }

  call(call) {
    if (call.attempt > this.attempt) {
      this.#clear();
      this.attempt = call.attempt;
    }
    if (this.cards.some((card) => card.id === call.id)) return;
    const card = new ToolCard(call);
    this.cards.push(card);
    this.parts.at(-1)?.end?.();
    this.parts.push({ kind: "call", draw() {} });
    this.body.append(card.root);
    this.onCard(card);
  }

  /** Show a stored message whole. */
  stored({ content, details, complete }) {
    this.#clear();
    const blocks = details.contentBlocks?.length ? details.contentBlocks : [{ type: "text", text: content }];
    for (const block of blocks) {
      if (block.type === "tool_call") this.call({ ...block, arguments: block.raw_arguments ?? block.arguments ?? {} });
      else if (block.text) this.#part(block.type).add(block.text);
    }
    this.named = details.model ? `${details.provider}:${details.model}` : "";
    this.draw();
    this.draw.now();
    if (complete) this.end({ ...details, errorMessage: details.errorMessage });
    else this.gap = true;
  }

  end({ stopReason, usage, stats, errorMessage }) {
    this.complete = true;
    this.root.dataset.state = stopReason === "error" || stopReason === "aborted" ? stopReason : "done";
    this.draw();
    this.draw.now();
    this.parts.forEach((part) => part.end?.());
    const facts = [
      this.named,
      usage ? tokens(usage.totalTokens) : "",
      dollars(stats?.cost?.total),
      duration(stats?.duration),
    ];
    replace(this.footer, facts.filter(Boolean).join(" · "), ended(stopReason, errorMessage));
    this.footer.title = [usage ? usageWords(usage) : "", stats?.ttft ? `first word after ${duration(stats.ttft)}` : ""].filter(Boolean).join("; ");
  }

  #part(kind) {
    const last = this.parts.at(-1);
    if (last?.kind === kind) return last;
    last?.end?.();
    const part = kind === "thinking" ? new ThinkingPart() : new TextPart();
    this.parts.push(part);
    this.body.append(part.root);
    return part;
  }

  #clear() {
    this.parts = [];
    this.cards = [];
    this.body.replaceChildren();
  }
}

class TextPart {
  kind = "text";
  text = "";
  #shown = "";

  constructor() {
    this.root = h("div", { class: "markdown" });
    this.view = new MarkdownView(this.root);
  }

  add(text) {
    this.text += text;
  }

  draw() {
    if (this.text === this.#shown) return;
    this.#shown = this.text;
    this.view.show(this.text);
  }
}

class ThinkingPart {
  kind = "thinking";
  text = "";

  constructor() {
    this.preview = h("span", { class: "thinking-preview" });
    this.label = h("span", {}, "Thinking");
    this.body = h("div", { class: "thinking-text" });
    this.root = h("details", { class: "thinking" }, h("summary", {}, this.label, this.preview), this.body);
  }

  add(text) {
    this.text += text;
  }

  draw() {
    this.body.textContent = this.text;
    this.preview.textContent = firstLine(this.text, 160);
  }

  end() {
    this.label.textContent = "Thought";
  }
}

function ended(stopReason, errorMessage) {
  if (errorMessage) return h("p", { class: "failure" }, errorMessage);
  if (stopReason === "aborted") return h("p", { class: "failure" }, "Stopped before the answer was complete.");
  if (stopReason === "length") return h("p", { class: "failure" }, "Truncated: the output limit was reached.");
  return null;
}

function usageWords(usage) {
  const names = { inputTokens: "input", cacheReadTokens: "cache read", cacheWriteTokens: "cache write", outputTokens: "output", reasoningTokens: "of which reasoning" };
  return Object.entries(names)
    .filter(([key]) => usage[key])
    .map(([key, name]) => `${usage[key].toLocaleString("en")} ${words(name)}`)
    .join(", ");
}
