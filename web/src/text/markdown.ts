// Markdown as elements: parsed by a library, then reduced to what a text may have. HTML in a text is shown as text.

import DOMPurify from "dompurify";
import { Lexer, Marked, type Token, type Tokens } from "marked";
import { h } from "../dom.ts";
import { policy } from "../policies.ts";

const TAGS = ["a", "blockquote", "br", "code", "del", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "input", "li", "ol", "p", "pre", "strong", "table", "tbody", "td", "th", "thead", "tr", "ul"];
const ATTRIBUTES = ["align", "checked", "class", "disabled", "href", "start", "title", "type"];
/** A paragraph of more is text, not Markdown, and so is a larger table. */
const LONGEST_LINE = 20_000;
const MOST_CELLS = 5000;

/** A part of a text that stands for itself. */
export interface Block {
  raw: string;
  kind: "markdown" | "plain";
  token: Token | null;
}

/** Used by the sanitiser alone, which parses with it into a document that runs and loads nothing. */
const parsing = policy("kaged-markdown", { createHTML: (html) => html });

const marked = new Marked({
  gfm: true,
  async: false,
  renderer: {
    html: ({ text }) => escaped(text),
    // A picture would be a request, which tells somebody that the text is read.
    image: ({ href, text }) => `<a href="${escaped(href)}">${escaped(text || href)}</a>`,
    // The page itself has the first heading.
    heading({ tokens, depth }) {
      const level = Math.min(depth + 1, 6);
      return `<h${level}>${this.parser.parseInline(tokens)}</h${level}>`;
    },
  },
  extensions: [
    {
      name: "formulaBlock",
      level: "block",
      start: (text) => /^ {0,3}(?:\$\$|\\\[)/m.exec(text)?.index,
      tokenizer(text) {
        const found = /^ {0,3}(?:\$\$([^$]{1,4000}?)\$\$|\\\[([^$]{1,4000}?)\\\])[ \t]*(?:\n+|$)/.exec(text);
        return found ? { type: "formulaBlock", raw: found[0], text: (found[1] ?? found[2] ?? "").trim() } : undefined;
      },
      renderer: ({ text }) => `<p><code class="maths display">${escaped(text as string)}</code></p>`,
    },
    {
      name: "formula",
      level: "inline",
      start: (text) => /\$|\\\(/.exec(text)?.index,
      tokenizer(text) {
        // A price is no formula: neither beside a space within, nor before a digit.
        const found = /^(?:\$(?![\s$])([^$\n]{1,1000}?)(?<![\s\\])\$(?!\d)|\\\(([^\n]{1,1000}?)\\\))/.exec(text);
        return found ? { type: "formula", raw: found[0], text: found[1] ?? found[2] ?? "" } : undefined;
      },
      renderer: ({ text }) => `<code class="maths">${escaped(text as string)}</code>`,
    },
  ],
});

const purify = DOMPurify(window);
purify.addHook("afterSanitizeAttributes", (node) => {
  if (node.tagName !== "A") return;
  node.setAttribute("target", "_blank");
  node.setAttribute("rel", "noopener noreferrer");
  // The words of a link can say another address than it has.
  const address = node.getAttribute("href");
  if (address && !node.getAttribute("title") && node.textContent !== address) node.setAttribute("title", address);
});

/** Return the blocks of a text, one after the other; together they are the text. */
export function blocksOf(text: string): Block[] {
  const lexer = new Lexer(marked.defaults);
  // As the library does it, but for paragraphs that are too long to be read.
  lexer.blockTokens(text.replace(/\r\n|\r/g, "\n"), lexer.tokens);
  for (const { src, tokens } of lexer.inlineQueue) {
    if (src.length > LONGEST_LINE) tokens.push({ type: "text", raw: src, text: src, escaped: false });
    else lexer.inlineTokens(src, tokens);
  }
  const blocks: Block[] = [];
  for (const token of lexer.tokens) {
    const last = blocks.at(-1);
    // Empty lines belong to what is before them.
    if (last && (token.type === "space" || token.type === "def")) last.raw += token.raw;
    else blocks.push({ raw: token.raw, kind: isTooLarge(token) ? "plain" : "markdown", token });
  }
  return blocks;
}

/** Return one block as one element. */
export function element({ raw, kind, token }: Block): HTMLElement {
  if (kind === "plain" || token === null) return h("pre", { tabIndex: 0 }, raw);
  const made = document.createElement("div");
  made.className = "block";
  made.append(sanitised(marked.parser([token])));
  // What led somewhere else than a browser may go is no link.
  for (const nowhere of made.querySelectorAll("a:not([href])")) nowhere.replaceWith(...nowhere.childNodes);
  for (const pre of made.querySelectorAll("pre")) pre.replaceWith(code(pre));
  for (const table of made.querySelectorAll("table")) {
    const around = h("div", { class: "table", tabIndex: 0, role: "group", "aria-label": "Table" });
    table.replaceWith(around);
    around.append(table);
  }
  // The marks of a list stand where its own words begin.
  for (const list of made.querySelectorAll("ul, ol, blockquote")) list.setAttribute("dir", "auto");
  for (const box of made.querySelectorAll<HTMLInputElement>("input")) {
    box.setAttribute("aria-label", box.checked ? "done" : "open");
    box.closest("li")?.classList.add("task");
  }
  return made;
}

/** Return a whole text as elements, without what needs a page. */
export function markdown(text: string): DocumentFragment {
  const made = document.createDocumentFragment();
  for (const block of blocksOf(text)) made.append(element(block));
  return made;
}

function sanitised(html: string): DocumentFragment {
  return purify.sanitize(html, {
    ALLOWED_TAGS: TAGS,
    ALLOWED_ATTR: ATTRIBUTES,
    ALLOWED_URI_REGEXP: /^(?:https?|mailto):/i,
    // What the expression above does not judge.
    ADD_URI_SAFE_ATTR: ATTRIBUTES.filter((name) => name !== "href"),
    ALLOW_DATA_ATTR: false,
    RETURN_DOM_FRAGMENT: true,
    ...(parsing ? { TRUSTED_TYPES_POLICY: parsing } : {}),
  });
}

/** Code with its language and a button that copies it. */
function code(pre: HTMLElement): HTMLElement {
  const inside = pre.querySelector("code");
  const language = /(?:^|\s)language-([\w+#-]+)/.exec(inside?.className ?? "")?.[1] ?? "";
  const button = h("button", { type: "button", class: "copy", "aria-label": "Copy the code" }, "Copy");
  button.addEventListener("click", () => void copy(button, inside?.textContent ?? ""));
  const made = h("div", { class: "code" }, language ? h("span", { class: "language" }, language) : null, button);
  const shown = h("pre", { tabIndex: 0 });
  if (inside) shown.append(inside);
  made.append(shown);
  return made;
}

async function copy(button: HTMLElement, text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text.replace(/\n$/, ""));
    button.textContent = "Copied";
  } catch {
    button.textContent = "Cannot copy";
  }
  setTimeout(() => (button.textContent = "Copy"), 1500);
}

function isTooLarge(token: Token): boolean {
  if (token.type !== "table") return false;
  const { header, rows } = token as Tokens.Table;
  return header.length * (rows.length + 1) > MOST_CELLS;
}

const ENTITIES: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (character) => ENTITIES[character] ?? character);
}
