// A list of runs, of one workflow or of all of a project, kept up to date.

import type { Frame } from "../../../clients/typescript/src/stream.js";
import { address, request, type Page } from "../api.ts";
import { h } from "../dom.ts";
import { ago, dollars, duration } from "../format.ts";
import { later } from "../later.ts";
import { redraw } from "../redraw.ts";
import { to } from "../routes.ts";
import type { ListedRun } from "./types.ts";
import { aboutWaiting, asks, cause, runPill } from "./words.ts";

const PAGE = 20;
const MOST = 100;

interface Given {
  project: string;
  /** Null or none for the runs of all workflows. */
  workflow?: string | null;
  onError: (error: unknown) => void;
}

export class RunList {
  readonly root: HTMLElement;
  /** Read the list again, soon. */
  readonly reload: () => void;
  readonly #project: string;
  readonly #workflow: string | null;
  readonly #onError: (error: unknown) => void;
  readonly #list: HTMLElement;
  #runs: ListedRun[] = [];
  #cursor: string | null = null;
  #closed = false;
  /** Of several answers the newest counts. */
  #turn = 0;

  constructor({ project, workflow = null, onError }: Given) {
    this.#project = project;
    this.#workflow = workflow;
    this.#onError = onError;
    this.#list = h("div", { id: "runs" });
    this.root = h("section", { "aria-label": "Runs" }, h("h3", {}, "Runs"), this.#list);
    this.reload = later(() => this.load());
  }

  close(): void {
    this.#closed = true;
  }

  frame({ type, session_id: session }: Frame): void {
    const waiting = aboutWaiting(type) && this.#runs.some((run) => run.session_id === session);
    if (waiting || type.startsWith("workflow.")) this.reload();
  }

  async load(): Promise<void> {
    this.#turn += 1;
    const turn = this.#turn;
    const page = await this.#page({ limit: Math.min(Math.max(this.#runs.length, PAGE), MOST) });
    if (!page || turn !== this.#turn) return;
    this.#runs = page.items;
    this.#draw(page.next_cursor);
  }

  async #more(): Promise<void> {
    const page = await this.#page({ limit: PAGE, cursor: this.#cursor });
    if (!page) return;
    const known = new Set(this.#runs.map((run) => run.id));
    this.#runs.push(...page.items.filter((run) => !known.has(run.id)));
    this.#draw(page.next_cursor);
  }

  /** Return a page of the list, null when there is none or nobody looks any more. */
  async #page(parameters: { limit: number; cursor?: string | null }): Promise<Page<ListedRun> | null> {
    try {
      const page = await request<Page<ListedRun>>("GET", address("/workflow-runs", { project_id: this.#project, workflow: this.#workflow, ...parameters }));
      return this.#closed ? null : page;
    } catch (error) {
      if (!this.#closed) this.#onError(error);
      return null;
    }
  }

  #draw(cursor: string | null): void {
    this.#cursor = cursor;
    const none = h("p", { class: "quiet" }, "No runs yet.");
    const more = h("div", { class: "more" }, h("button", { type: "button", data: { key: "more-runs" }, onclick: () => this.#more() }, "More"));
    redraw(this.#list, this.#runs.length ? h("ul", { class: "rows" }, this.#runs.map((run) => this.#row(run))) : none, cursor ? more : null);
  }

  #row(run: ListedRun): HTMLElement {
    const facts = [cause(run), ago(run.created_at), duration(run.duration_ms), dollars(run.cost_usd)].filter(Boolean);
    return h(
      "li",
      {},
      h(
        "a",
        { href: to.run(run.id), data: { key: run.id, run: run.id } },
        h("span", { class: "row-title" }, this.#workflow === null ? run.workflow : facts.shift()),
        runPill(run),
        h("span", { class: "row-facts quiet" }, facts.map((fact) => h("span", {}, fact))),
      ),
      asks(run) ? h("a", { class: "row-answer", href: to.session(run.session_id), data: { key: `answer-${run.id}` } }, "Answer in its session") : null,
    );
  }
}
