// The checklist of an issue: steps of the plan and acceptance criteria. An agent claims that a criterion is met;
// an operator signs it off here.

import { create, request, type Schemas } from "../api.ts";
import { actButton, actForm } from "../act.ts";
import { h, type Child } from "../dom.ts";
import { words } from "../format.ts";
import { redraw } from "../redraw.ts";
import type { Issue, PartGiven, Todo } from "./types.ts";
import { person } from "./words.ts";

type Change = Schemas["EditTodo"];
/** What a person is asked for a text about. */
type Asked = "reject" | "resolve" | "note";

const MARKS: Record<Todo["status"], string> = { pending: "○", in_progress: "◐", completed: "✓", abandoned: "–" };
const ASKS: Record<Asked, string> = { reject: "What is missing?", resolve: "What was done?", note: "Note for later" };
const SENDS: Record<Asked, string> = { reject: "Reject", resolve: "Accept and resolve", note: "Save note" };
const BODIES: Record<Asked, (comment: string) => Change> = {
  reject: (comment) => ({ reject: { comment } }),
  resolve: (comment) => ({ accept: true, resolve: { comment } }),
  note: (comment) => ({ note: comment }),
};

export class Checklist {
  readonly root: HTMLElement;
  readonly #given: Pick<PartGiven, "path" | "onError" | "onChanged">;
  readonly #list: HTMLElement;
  readonly #count: HTMLElement;
  readonly #content: HTMLInputElement;
  readonly #kind: HTMLSelectElement;
  #todos: Todo[] = [];
  #issue: Issue | null = null;
  #asking: { id: string; kind: Asked } | null = null;

  constructor(given: Pick<PartGiven, "path" | "onError" | "onChanged">) {
    this.#given = given;
    this.#list = h("div", { class: "todos" });
    this.#count = h("span", { class: "quiet", role: "status" });
    this.#content = h("input", { name: "content", required: true, maxLength: 2000, placeholder: "Add to the checklist", "aria-label": "New checklist entry", autocomplete: "off" });
    this.#kind = h("select", { name: "kind", "aria-label": "Kind of the new entry" }, h("option", { value: "step" }, "step"), h("option", { value: "criterion" }, "criterion"));
    const form = actForm({ class: "row wrap todo-form" }, () => this.#add(), given.onError, this.#content, this.#kind, h("button", { type: "submit", class: "small" }, "Add"));
    this.root = h("section", { class: "checklist", "aria-label": "Checklist" }, h("h3", {}, "Checklist ", this.#count), this.#list, form);
  }

  show(todos: Todo[], issue: Issue): void {
    this.#todos = todos;
    this.#issue = issue;
    if (!todos.some((todo) => todo.id === this.#asking?.id)) this.#asking = null;
    this.#draw();
  }

  #draw(): void {
    const live = this.#todos.filter((todo) => todo.status !== "abandoned");
    const dropped = this.#todos.filter((todo) => todo.status === "abandoned");
    const done = live.filter((todo) => todo.status === "completed").length;
    this.#count.textContent = live.length ? `${done} of ${live.length} done` : "";
    let phase: string | null = null;
    const rows = live.map((todo) => {
      const head = todo.phase && todo.phase !== phase ? h("li", { class: "phase quiet" }, todo.phase) : null;
      phase = todo.phase;
      return [head, this.#row(todo)];
    });
    const rest = dropped.length ? h("details", { data: { key: "dropped" } }, h("summary", { class: "quiet" }, `${dropped.length} dropped`), h("ul", {}, dropped.map((todo) => this.#row(todo)))) : null;
    redraw(this.#list, live.length ? h("ul", {}, rows) : h("p", { class: "quiet" }, "The checklist is empty."), rest);
  }

  #row(todo: Todo): HTMLElement {
    const badge = todo.kind === "criterion" ? h("span", { class: "badge", data: { accepted: String(Boolean(todo.accepted_at)) } }, standing(todo)) : null;
    const asks = this.#asking?.id === todo.id ? this.#form(todo, this.#asking.kind) : null;
    return h(
      "li",
      { class: "todo", data: { todo: todo.id, status: todo.status, kind: todo.kind } },
      h("span", { class: "todo-mark", "aria-hidden": "true" }, MARKS[todo.status]),
      h("div", { class: "todo-text" }, h("span", { class: "visually-hidden" }, `${words(todo.status)}: `), h("span", { class: "todo-content" }, todo.content), badge, todo.origin_agent ? h("span", { class: "quiet" }, ` proposed by ${todo.origin_agent}`) : null),
      h("div", { class: "row wrap todo-acts" }, this.#buttons(todo)),
      todo.notes.length ? h("ul", { class: "todo-notes" }, todo.notes.map(note)) : null,
      asks,
    );
  }

  #buttons(todo: Todo): Child {
    const act = (name: string, label: string, body: Change) => actButton(label, () => this.#change(todo, body), { onError: this.#given.onError, key: `${name}-${todo.id}`, class: "small", data: { act: name }, "aria-label": `${label}: ${todo.content}` });
    const ask = (kind: Asked, label: string) => h("button", { type: "button", class: "small", data: { key: `${kind}-${todo.id}`, act: kind }, "aria-label": `${label}: ${todo.content}`, "aria-expanded": String(this.#asking?.id === todo.id && this.#asking.kind === kind), onclick: () => this.#ask(todo, kind) }, label);
    const open = todo.status === "pending" || todo.status === "in_progress";
    const criterion = todo.kind === "criterion";
    if (todo.status === "abandoned" || (todo.status === "completed" && (!criterion || todo.accepted_at))) return act("reopen", "Reopen", { status: "pending" });
    return [
      todo.status === "pending" ? act("start", "Start", { status: "in_progress" }) : null,
      open ? act("done", "Done", { status: "completed" }) : null,
      criterion ? act("accept", "Accept", { accept: true }) : null,
      criterion && this.#isLast(todo) ? ask("resolve", "Accept and resolve…") : null,
      criterion && !open ? ask("reject", "Reject…") : null,
      ask("note", "Note…"),
      act("drop", "Drop", { status: "abandoned" }),
    ];
  }

  /** Whether this is the only criterion that is not signed off, and the issue can be resolved with it. */
  #isLast(todo: Todo): boolean {
    const rest = this.#todos.filter((one) => one.kind === "criterion" && one.status !== "abandoned" && !one.accepted_at);
    return rest.length === 1 && rest[0]?.id === todo.id && this.#issue !== null && this.#issue.legal_transitions.includes("resolved");
  }

  #ask(todo: Todo, kind: Asked): void {
    const closes = this.#asking?.id === todo.id && this.#asking.kind === kind;
    this.#asking = closes ? null : { id: todo.id, kind };
    this.#draw();
    this.#list.querySelector("textarea")?.focus();
  }

  #form(todo: Todo, kind: Asked): HTMLElement {
    const close = () => {
      this.#asking = null;
      this.#draw();
      this.#list.querySelector<HTMLElement>(`[data-key="${kind}-${todo.id}"]`)?.focus();
    };
    const comment = h("textarea", { name: "comment", rows: 2, required: true, maxLength: 2000, data: { key: `comment-${kind}-${todo.id}` } });
    return actForm(
      { class: "fields inline-form" },
      () => this.#change(todo, BODIES[kind](comment.value)),
      this.#given.onError,
      h("label", {}, ASKS[kind], comment),
      h("div", { class: "row" }, h("button", { type: "submit", class: "small primary", data: { key: "todo-send", act: "send" } }, SENDS[kind]), h("button", { type: "button", class: "small", data: { key: "todo-cancel" }, onclick: close }, "Cancel")),
    );
  }

  async #change(todo: Todo, body: Change): Promise<void> {
    await request("PATCH", `${this.#given.path}/todos/${encodeURIComponent(todo.id)}`, body);
    this.#asking = null;
    await this.#given.onChanged();
  }

  async #add(): Promise<void> {
    await create(`${this.#given.path}/todos`, { content: this.#content.value, kind: this.#kind.value });
    this.#content.value = "";
    await this.#given.onChanged();
  }
}

function standing(todo: Todo): string {
  if (todo.accepted_at) return `criterion, accepted by ${person(todo.accepted_by)}`;
  return todo.status === "completed" ? `criterion, claimed as met by ${person(todo.completed_by)}` : "criterion";
}

function note(one: Todo["notes"][number]): HTMLElement {
  return h("li", { class: "quiet" }, `${person(one.author)}: ${one.text}`);
}
