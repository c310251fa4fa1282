// What can be written at the caret: files, symbols, issues and sessions for `@`, commands and workflows for `/`.

import { address, request } from "../api.ts";
import { to } from "../routes.ts";
import { shownPath } from "../workspace/names.ts";
import { carryOut, COMMANDS, type Command } from "./commands.ts";
import type { ComposerState } from "./state.svelte.ts";
import { mention, symbolsLike, type Offered } from "./symbols.ts";
import type { Trigger } from "./trigger.ts";

export interface Suggestion {
  kind: "Commands" | "Workflows" | "Files" | "Symbols" | "Issues" | "Sessions";
  label: string;
  about: string;
  /** What it puts into the text; null: it does something. */
  text: string | null;
  act?(): void | Promise<void>;
}

const FILES = 8;
const OTHERS = 4;
/** How long what is found at once waits for the symbols, so that nothing moves when these come. */
const SOON = 150;
const AGAIN = 1000;

export class Completion {
  trigger = $state.raw<Trigger | null>(null);
  items = $state.raw<Suggestion[]>([]);
  /** Why there may be more suggestions than these. */
  note = $state("");
  active = $state(0);
  open = $derived(this.trigger !== null && this.items.length > 0);
  #turn = 0;
  /** Whether somebody has chosen with the arrow keys. */
  #chosen = false;
  /** The place of the sign that a person does not want to be helped with. */
  #dismissed: number | null = null;
  #workflows = new Map<string, Promise<Suggestion[]>>();

  readonly composer: ComposerState;

  constructor(composer: ComposerState) {
    this.composer = composer;
  }

  async look(trigger: Trigger | null): Promise<void> {
    const turn = (this.#turn += 1);
    if (trigger === null) this.#dismissed = null;
    if (trigger === null || trigger.from === this.#dismissed) {
      this.trigger = null;
      return;
    }
    const same = this.trigger?.from === trigger.from && this.trigger.kind === trigger.kind;
    // The suggestions stay until others are there; whoever takes one replaces all that is written by then.
    if (same) this.trigger = trigger;
    if (trigger.kind === "command") {
      const items = await this.#commands(trigger.query);
      if (turn === this.#turn) this.#show(trigger, items, same);
    } else await this.#lookMentions(turn, trigger, same);
  }

  /** Files come first, and symbols when they are known: Enter waits for these only where there are no files. */
  async #lookMentions(turn: number, trigger: Trigger, same: boolean): Promise<void> {
    let known: Offered | null = null;
    const symbols = this.#symbols(trigger.query).then((offered) => (known = offered));
    const [[files, others]] = await Promise.all([this.#mentions(trigger.query), Promise.race([symbols, after(SOON)])]);
    const show = (offered: Offered | null, same = true) => {
      if (turn === this.#turn) this.#show(trigger, [...files, ...(offered?.items ?? []), ...others], same, offered?.note);
    };
    show(known, same);
    const late = known ?? symbols.then((offered) => (show(offered), offered));
    if (!files.length) await late;
    void this.#askAgain(turn, trigger.query, late, show);
  }

  /** Ask until all symbols are known, or something else is looked for. */
  async #askAgain(turn: number, query: string, first: Offered | Promise<Offered>, show: (offered: Offered) => void): Promise<void> {
    let offered = await first;
    while (offered.pending) {
      await after(AGAIN);
      if (turn !== this.#turn) return;
      offered = await this.#symbols(query);
      show(offered);
    }
  }

  #show(trigger: Trigger, items: Suggestion[], same: boolean, note = ""): void {
    const chosen = same && this.#chosen ? this.items[this.active] : undefined;
    const at = items.findIndex(({ kind, label, about }) => kind === chosen?.kind && label === chosen.label && about === chosen.about);
    this.trigger = trigger;
    this.items = items;
    this.note = note;
    this.active = Math.max(0, at);
    this.#chosen = at >= 0;
  }

  dismiss(): void {
    this.#turn += 1;
    this.#dismissed = this.trigger?.from ?? null;
    this.trigger = null;
  }

  move(step: number): void {
    this.active = (this.active + step + this.items.length) % this.items.length;
    this.#chosen = true;
  }

  /** Take a suggestion; return where the caret is to stand. */
  take(item = this.items[this.active]): number {
    const { composer, trigger } = this;
    if (!item || !trigger) return composer.text.length;
    this.#turn += 1;
    this.trigger = null;
    if (item.text === null) {
      item.act?.();
      return 0;
    }
    // The whole word goes: more of it may have been written than was looked at.
    const rest = composer.text.slice(trigger.to).replace(/^\S+/, "");
    const put = `${item.text}${/^\s/.test(rest) ? "" : " "}`;
    composer.text = composer.text.slice(0, trigger.from) + put + rest;
    return trigger.from + put.length;
  }

  async #commands(query: string): Promise<Suggestion[]> {
    const { composer } = this;
    const fits = (name: string) => name.startsWith(query.toLowerCase());
    const commands = COMMANDS.filter((one) => fits(one.name) && (!one.can || one.can(composer))).map((one) => this.#command(one));
    const workflows = (await this.#workflowsOf(composer.detail?.project_id ?? "")).filter(({ label }) => fits(label.slice(1)));
    return [...commands, ...workflows];
  }

  #command(command: Command): Suggestion {
    return { kind: "Commands", label: `/${command.name}`, about: command.about, text: null, act: () => carryOut(this.composer, command) };
  }

  #workflowsOf(project: string): Promise<Suggestion[]> {
    const known = this.#workflows.get(project) ?? this.#readWorkflows(project);
    this.#workflows.set(project, known);
    return known;
  }

  async #readWorkflows(project: string): Promise<Suggestion[]> {
    const items = await found(`/projects/${project}/workflows`, { limit: 50 });
    return items.map(({ name, description }) => ({
      kind: "Workflows" as const,
      label: `/${name}`,
      about: description || "A workflow of the project",
      text: null,
      act: () => {
        this.composer.text = "";
        location.hash = to.workflow(project, name);
      },
    }));
  }

  #symbols(query: string): Promise<Offered> {
    const { session, detail } = this.composer;
    return symbolsLike(query, detail?.project_id ?? "", session?.id);
  }

  /** Return files, and what comes after all that is in them. */
  async #mentions(query: string): Promise<[files: Suggestion[], others: Suggestion[]]> {
    const { session, detail } = this.composer;
    const project = detail?.project_id ?? "";
    const [files, issues, sessions] = await Promise.all([
      found(`/projects/${project}/files/search`, { q: query, limit: FILES, session_id: session?.id }),
      found(`/projects/${project}/issues`, issuesLike(query)),
      query ? found("/sessions", { project_id: project, text: query, limit: OTHERS + 1 }) : [],
    ]);
    return [
      files.map(({ path, kind }): Suggestion => ({ kind: "Files", label: shownPath(path), about: kind === "folder" ? "folder" : "", text: mention(path) })),
      [
        ...issues.map(({ number, title, status }): Suggestion => ({ kind: "Issues", label: `#${number} ${title}`, about: String(status).replaceAll("_", " "), text: `#${number}` })),
        ...sessions
          .filter(({ id }) => id !== session?.id)
          .map(({ id, title, state }): Suggestion => ({ kind: "Sessions", label: title || "New session", about: state, text: `session ${id}` })),
      ],
    ];
  }
}

function after(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

function issuesLike(query: string): Record<string, string | number> {
  const words = query.replace(/[^\p{L}\p{N}]+/gu, " ").trim();
  return { limit: OTHERS, ...(words ? { search: words.split(" ").map((word) => `${word}*`).join(" ") } : {}) };
}

/** Suggestions are an offer: what cannot be read is left out. */
async function found(path: string, query: Record<string, string | number | undefined>): Promise<any[]> {
  try {
    return (await request<{ items: any[] }>("GET", address(path, query))).items;
  } catch {
    return [];
  }
}
