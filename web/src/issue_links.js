// The links between an issue and others of its project.

import { request } from "./api.ts";
import { actButton, actForm } from "./act.ts";
import { h, redraw } from "./dom.ts";
import { statusPill } from "./issue_words.js";
import { to } from "./routes.ts";

const OUT = { blocks: "blocks", relates: "relates to", duplicates: "duplicates" };
const IN = { blocks: "is blocked by", relates: "relates to", duplicates: "is duplicated by" };

export class IssueLinks {
  constructor({ path, project, onError, onChanged }) {
    Object.assign(this, { path, project, onError, onChanged });
    this.list = h("ul", { class: "links" });
    const kind = h("select", { name: "kind", "aria-label": "Kind of link" }, Object.entries(OUT).map(([value, text]) => h("option", { value }, text)));
    const number = h("input", { name: "number", type: "number", min: "1", step: "1", required: true, placeholder: "#", "aria-label": "Number of the other issue" });
    const form = actForm({ class: "row link-form" }, (sent) => this.#link(sent), onError, kind, number, h("button", { type: "submit", class: "small" }, "Link"));
    this.root = h("section", { "aria-label": "Links" }, h("h3", {}, "Links"), this.list, form);
  }

  show(issue) {
    redraw(this.list, issue.links.map((link) => this.#item(link)));
  }

  #item(link) {
    const words = (link.outgoing ? OUT : IN)[link.kind] ?? link.kind;
    const remove = actButton("✕", () => this.#unlink(link.id), { onError: this.onError, key: `unlink-${link.id}`, class: "icon", "aria-label": `Remove: ${words} #${link.number}` });
    return h("li", { data: { number: link.number } }, h("span", { class: "quiet" }, `${words} `), h("a", { href: to.issue(this.project, link.number) }, `#${link.number} ${link.title}`), " ", statusPill(link.status), remove);
  }

  async #link(form) {
    const { kind, number } = form.elements;
    await request("POST", `${this.path}/links`, { kind: kind.value, target: Number(number.value) });
    form.reset();
    await this.onChanged();
  }

  async #unlink(id) {
    await request("DELETE", `${this.path}/links/${encodeURIComponent(id)}`);
    await this.onChanged();
  }
}
