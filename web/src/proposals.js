// The checklist proposals of a session's subagents: accept or reject them.

import { allItems, request } from "./api.ts";
import { actButton } from "./act.ts";
import { h, redraw } from "./dom.ts";

export class Proposals {
  constructor({ path, onError, onChanged }) {
    Object.assign(this, { path, onError, onChanged });
    this.root = h("div", { class: "proposals" });
  }

  async refresh() {
    try {
      const found = await allItems(`${this.path}/todo-proposals?state=proposed`);
      redraw(this.root, found.length ? [h("h4", {}, "Proposed for the checklist"), h("ul", {}, found.map((proposal) => this.#item(proposal)))] : null);
    } catch (error) {
      this.onError(error);
    }
  }

  #item(proposal) {
    const { id, content, kind, agent_path: agent } = proposal;
    const decide = (word) => async () => {
      await request("POST", `${this.path}/todo-proposals/${encodeURIComponent(id)}/${word}`);
      await this.onChanged();
      await this.refresh();
    };
    const button = (word, label) => actButton(label, decide(word), { onError: this.onError, key: `${word}-${id}`, class: "small", data: { act: word }, "aria-label": `${label}: ${content}` });
    return h("li", { class: "todo", data: { proposal: id } }, h("div", { class: "todo-text" }, content, " ", kind === "criterion" ? h("span", { class: "badge" }, "criterion") : null, h("span", { class: "quiet" }, ` by ${agent}`)), h("div", { class: "row" }, button("accept", "Accept"), button("reject", "Reject")));
  }
}
