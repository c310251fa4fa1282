// The links between an issue and others of its project.

import { request, type Schemas } from "../api.ts";
import { actButton, actForm } from "../act.ts";
import { h } from "../dom.ts";
import { redraw } from "../redraw.ts";
import { to } from "../routes.ts";
import type { Issue, PartGiven } from "./types.ts";
import { statusPill } from "./words.ts";

type Link = Schemas["IssueLinkAnswer"];

const OUT: Record<Link["kind"], string> = { blocks: "blocks", relates: "relates to", duplicates: "duplicates" };
const IN: Record<Link["kind"], string> = { blocks: "is blocked by", relates: "relates to", duplicates: "is duplicated by" };

export class IssueLinks {
  readonly root: HTMLElement;
  readonly #given: PartGiven;
  readonly #list: HTMLElement;
  readonly #kind: HTMLSelectElement;
  readonly #number: HTMLInputElement;

  constructor(given: PartGiven) {
    this.#given = given;
    this.#list = h("ul", { class: "links" });
    this.#kind = h("select", { name: "kind", "aria-label": "Kind of link" }, Object.entries(OUT).map(([value, text]) => h("option", { value }, text)));
    this.#number = h("input", { name: "number", type: "number", min: "1", step: "1", required: true, placeholder: "#", "aria-label": "Number of the other issue" });
    const form = actForm({ class: "row link-form" }, (sent) => this.#link(sent), given.onError, this.#kind, this.#number, h("button", { type: "submit", class: "small" }, "Link"));
    this.root = h("section", { "aria-label": "Links" }, h("h3", {}, "Links"), this.#list, form);
  }

  show(issue: Issue): void {
    redraw(this.#list, issue.links.map((link) => this.#item(link)));
  }

  #item(link: Link): HTMLElement {
    const words = (link.outgoing ? OUT : IN)[link.kind] ?? link.kind;
    const remove = actButton("✕", () => this.#unlink(link.id), { onError: this.#given.onError, key: `unlink-${link.id}`, class: "icon", "aria-label": `Remove: ${words} #${link.number}` });
    return h("li", { data: { key: `link-${link.id}`, number: String(link.number) } }, h("span", { class: "quiet" }, `${words} `), h("a", { href: to.issue(this.#given.project, link.number) }, `#${link.number} ${link.title}`), " ", statusPill(link.status), remove);
  }

  async #link(form: HTMLFormElement): Promise<void> {
    await request("POST", `${this.#given.path}/links`, { kind: this.#kind.value, target: Number(this.#number.value) });
    form.reset();
    await this.#given.onChanged();
  }

  async #unlink(id: string): Promise<void> {
    await request("DELETE", `${this.#given.path}/links/${encodeURIComponent(id)}`);
    await this.#given.onChanged();
  }
}
