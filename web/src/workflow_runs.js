// A list of runs, of one workflow or of all of a project, kept up to date.

import { address, request } from "./api.ts";
import { h, redraw } from "./dom.ts";
import { ago, dollars, duration } from "./format.ts";
import { later } from "./later.ts";
import { to } from "./routes.ts";
import { aboutWaiting, asks, cause, runPill } from "./workflow_words.js";

const PAGE = 20;
const MOST = 100;

export class RunList {
  #runs = [];
  #cursor = null;
  #closed = false;

  constructor({ project, workflow = null, onError }) {
    Object.assign(this, { project, workflow, onError });
    this.list = h("div", { id: "runs" });
    this.root = h("section", { "aria-label": "Runs" }, h("h3", {}, "Runs"), this.list);
    this.reload = later(() => this.load());
  }

  close() {
    this.#closed = true;
  }

  frame({ type, session_id: session }) {
    const waiting = aboutWaiting(type) && this.#runs.some((run) => run.session_id === session);
    if (waiting || type.startsWith("workflow.")) this.reload();
  }

  async load() {
    const page = await this.#page({ limit: Math.min(Math.max(this.#runs.length, PAGE), MOST) });
    if (!page) return;
    this.#runs = page.items;
    this.#draw(page.next_cursor);
  }

  async #more() {
    const page = await this.#page({ limit: PAGE, cursor: this.#cursor });
    if (!page) return;
    const known = new Set(this.#runs.map((run) => run.id));
    this.#runs.push(...page.items.filter((run) => !known.has(run.id)));
    this.#draw(page.next_cursor);
  }

  async #page(parameters) {
    try {
      const page = await request("GET", address("/workflow-runs", { project_id: this.project, workflow: this.workflow, ...parameters }));
      return this.#closed ? null : page;
    } catch (error) {
      if (!this.#closed) this.onError(error);
      return null;
    }
  }

  #draw(cursor) {
    this.#cursor = cursor;
    const none = h("p", { class: "quiet" }, "No runs yet.");
    const more = h("div", { class: "more" }, h("button", { type: "button", data: { key: "more-runs" }, onclick: () => this.#more() }, "More"));
    redraw(this.list, this.#runs.length ? h("ul", { class: "rows" }, this.#runs.map((run) => this.#row(run))) : none, cursor ? more : null);
  }

  #row(run) {
    const facts = [cause(run), ago(run.created_at), duration(run.duration_ms), dollars(run.cost_usd)].filter(Boolean);
    return h(
      "li",
      {},
      h(
        "a",
        { href: to.run(run.id), data: { key: run.id, run: run.id } },
        h("span", { class: "row-title" }, this.workflow === null ? run.workflow : facts.shift()),
        runPill(run),
        h("span", { class: "row-facts quiet" }, facts.map((fact) => h("span", {}, fact))),
      ),
      asks(run) ? h("a", { class: "row-answer", href: to.session(run.session_id), data: { key: `answer-${run.id}` } }, "Answer in its session") : null,
    );
  }
}
