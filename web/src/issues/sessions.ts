// The sessions that work on an issue, and what their subagents propose for its checklist.

import type { Schemas } from "../api.ts";
import { h } from "../dom.ts";
import { redraw } from "../redraw.ts";
import { Proposals } from "./proposals.ts";
import { to } from "../routes.ts";
import { asks, failed, sessionWord } from "../session_words.ts";
import type { Issue, PartGiven } from "./types.ts";

type Session = Schemas["ListedSession"];

export class IssueSessions {
  readonly root: HTMLElement;
  readonly #given: PartGiven;
  readonly #list: HTMLElement;
  readonly #proposed: HTMLElement;
  readonly #proposals = new Map<string, Proposals>();

  constructor(given: PartGiven) {
    this.#given = given;
    this.#list = h("ul", { class: "bound-sessions" });
    this.#proposed = h("div", {});
    this.root = h("section", { "aria-label": "Sessions" }, h("h3", {}, "Sessions"), this.#list, this.#proposed);
  }

  show(_issue: Issue, sessions: Session[]): void {
    const none = h("li", { class: "quiet" }, "No session works on this issue.");
    redraw(this.#list, sessions.length ? sessions.map(item) : none);
    const shown = sessions.map((session) => this.#of(session));
    if (shown.length !== this.#proposed.children.length) redraw(this.#proposed, shown.map((proposals) => proposals.root));
    shown.forEach((proposals) => void proposals.refresh());
  }

  #of(session: Session): Proposals {
    let known = this.#proposals.get(session.id);
    if (!known) {
      known = new Proposals({ path: `/sessions/${encodeURIComponent(session.id)}`, onError: this.#given.onError, onChanged: this.#given.onChanged });
      this.#proposals.set(session.id, known);
    }
    return known;
  }
}

function item(session: Session): HTMLElement {
  const look = asks(session) ? "asks" : failed(session) ? "failure" : "quiet";
  return h("li", {}, h("a", { href: to.session(session.id), data: { key: `session-${session.id}` } }, session.title || "New session"), h("span", { class: look }, ` ${sessionWord(session)}`));
}
