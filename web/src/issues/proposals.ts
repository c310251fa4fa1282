// The checklist proposals of a session's subagents: accept or reject them.

import { actButton } from "../act.ts";
import { allItems, request, type Schemas } from "../api.ts";
import { h } from "../dom.ts";
import { redraw } from "../redraw.ts";
import type { PartGiven } from "./types.ts";

type Proposal = Schemas["ProposalAnswer"];
type Given = Pick<PartGiven, "path" | "onError" | "onChanged">;

export class Proposals {
  readonly root = h("div", { class: "proposals" });
  readonly #about: Given;

  /** `path` is that of the session. */
  constructor(about: Given) {
    this.#about = about;
  }

  async refresh(): Promise<void> {
    const { path, onError } = this.#about;
    try {
      const found = await allItems<Proposal>(`${path}/todo-proposals?state=proposed`);
      redraw(this.root, found.length ? [h("h4", {}, "Proposed for the checklist"), h("ul", {}, found.map((proposal) => this.#item(proposal)))] : null);
    } catch (error) {
      onError(error);
    }
  }

  #item({ id, content, kind, agent_path: agent }: Proposal): HTMLElement {
    const { path, onError, onChanged } = this.#about;
    const decide = (word: string) => async () => {
      await request("POST", `${path}/todo-proposals/${encodeURIComponent(id)}/${word}`);
      await onChanged();
      await this.refresh();
    };
    const button = (word: string, label: string) => actButton(label, decide(word), { onError, key: `${word}-${id}`, class: "small", data: { act: word }, "aria-label": `${label}: ${content}` });
    return h("li", { class: "todo", data: { proposal: id } }, h("div", { class: "todo-text" }, content, " ", kind === "criterion" ? h("span", { class: "badge" }, "criterion") : null, h("span", { class: "quiet" }, ` by ${agent}`)), h("div", { class: "row" }, button("accept", "Accept"), button("reject", "Reject")));
  }
}
