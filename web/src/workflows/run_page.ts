// One run of a workflow: state, inputs, result, and its session.

import type { components } from "../../../clients/typescript/src/generated/events.ts";
import type { Frame } from "../../../clients/typescript/src/stream.js";
import { downloadAddress, request, type Schemas } from "../api.ts";
import { actButton } from "../act.ts";
import { h } from "../dom.ts";
import { dollars, duration, moment } from "../format.ts";
import { later } from "../later.ts";
import type { Page, View } from "../page.ts";
import { redraw } from "../redraw.ts";
import { to, type Route } from "../routes.ts";
import { MarkdownView } from "../text/markdown_view.ts";
import type { Run } from "./types.ts";
import { aboutWaiting, asks, cause, runPill, runWord } from "./words.ts";

type Upload = Schemas["UploadAnswer"];
/** What a frame may say of a run. */
type About = Partial<Pick<components["schemas"]["WorkflowStarted"], "workflow_run_id">>;

/** The address does not name the project: the run does. */
type Named = Omit<Route<"run">, "project"> & { project: string | null };

const UPLOAD = /^upl_[0-9A-Z]{26}$/;
const OPEN: ReadonlySet<Run["state"]> = new Set<Run["state"]>(["queued", "running"]);

export class WorkflowRunPage implements View {
  readonly #page: Page;
  readonly #route: Named;
  readonly #path: string;
  readonly #reload: () => void;
  readonly #root: HTMLElement;
  readonly #files = new Map<unknown, Upload>();
  #closed = false;
  /** Of several answers the newest counts. */
  #turn = 0;
  #run: Run | null = null;

  constructor(page: Page, route: Named) {
    this.#page = page;
    this.#route = route;
    this.#path = `/workflow-runs/${encodeURIComponent(route.run)}`;
    this.#reload = later(() => this.#load().catch((error) => this.#closed || page.failed(error)));
    this.#root = h("div", { class: "run" });
  }

  async open(): Promise<void> {
    this.#page.title("Run");
    await this.#load();
    if (!this.#closed) this.#page.root.append(this.#root);
  }

  close(): void {
    this.#closed = true;
  }

  again(): void {
    this.#reload();
  }

  frame({ type, session_id: session, payload }: Frame): void {
    const mine = (payload as About).workflow_run_id === this.#route.run;
    if (mine || (session && session === this.#run?.session_id && aboutWaiting(type))) this.#reload();
  }

  async #load(): Promise<void> {
    this.#turn += 1;
    const turn = this.#turn;
    const run = await request<Run>("GET", this.#path);
    if (this.#closed) return;
    await this.#name(Object.values(run.inputs).filter((value): value is string => typeof value === "string" && UPLOAD.test(value)));
    if (this.#closed || turn !== this.#turn) return;
    this.#run = run;
    this.#route.project = run.project_id;
    this.#page.sidebar.select(this.#route);
    this.#page.title(`${run.workflow}: ${runWord(run)}`);
    this.#draw(run);
  }

  /** Find out what the files among the inputs are called. */
  async #name(ids: string[]): Promise<void> {
    const unknown = ids.filter((id) => !this.#files.has(id));
    const files = await Promise.all(unknown.map((id) => request<Upload>("GET", `/uploads/${encodeURIComponent(id)}`).catch(() => null)));
    for (const file of files) if (file) this.#files.set(file.id, file);
  }

  #draw(run: Run): void {
    const cancel = actButton("Cancel", () => request("POST", `${this.#path}/cancel`).then(() => this.#load()), { onError: (error) => this.#page.failed(error), key: "cancel", class: "danger", id: "cancel-run" });
    redraw(
      this.#root,
      h("p", { class: "issue-back" }, h("a", { class: "plain-link", href: to.workflow(run.project_id, run.workflow), data: { key: "back" } }, `All runs of ${run.workflow}`)),
      h("div", { class: "view-head" }, h("h2", {}, run.workflow), h("span", { role: "status" }, runPill(run)), OPEN.has(run.state) ? cancel : null),
      facts(run),
      run.error ? h("section", { class: "run-error", role: "alert" }, h("h3", {}, "Error"), h("p", {}, run.error.message), h("p", { class: "quiet" }, run.error.code)) : null,
      Object.keys(run.inputs).length ? h("section", { data: { key: "inputs" } }, h("h3", {}, "Inputs"), this.#inputs(run)) : null,
      run.output === null ? null : h("section", { data: { key: "output" } }, h("h3", {}, "Output"), output(run.output)),
    );
  }

  #inputs(run: Run): HTMLElement {
    return h("dl", { class: "pairs" }, Object.entries(run.inputs).map(([name, value]) => [h("dt", {}, name), h("dd", {}, input(value, this.#files))]));
  }
}

function facts(run: Run): HTMLElement {
  const links = [
    run.session_id ? h("a", { href: to.session(run.session_id), data: { key: "session" }, id: "run-session" }, asks(run) ? "Answer in its session" : run.state === "running" ? "Watch its session" : "Its session") : null,
    run.issue_number ? h("a", { href: to.issue(run.project_id, run.issue_number), data: { key: "issue" } }, `Issue #${run.issue_number}`) : null,
  ];
  const pairs: [string, string][] = [["Started", `${cause(run)}, ${moment(run.created_at)}`], ["Duration", OPEN.has(run.state) ? `${duration(run.elapsed_ms)} of work so far` : duration(run.duration_ms)], ["Cost", dollars(run.cost_usd)]];
  return h("div", { class: "run-facts" }, h("dl", { class: "pairs" }, pairs.filter(([, value]) => value).map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)])), h("p", { class: "row wrap" }, links));
}

function output(text: string): HTMLElement {
  const root = h("div", { class: "markdown", id: "run-output" });
  new MarkdownView(root).show(text);
  return root;
}

/** A file among the inputs is shown by its name, and can be fetched. */
function input(value: unknown, files: ReadonlyMap<unknown, Upload>): HTMLElement | string {
  const file = files.get(value);
  if (file) return h("a", { href: downloadAddress(`/uploads/${encodeURIComponent(file.id)}/content`), download: file.name }, file.name);
  return typeof value === "string" ? value : JSON.stringify(value);
}
