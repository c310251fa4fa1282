// What the panel says of the session itself: its issue, tokens, prompts, tools, audit trail and actions.

import { address, allItems, downloadAddress, request, type Page, type Schemas } from "../api.ts";
import { BoundIssue } from "../issues/bound_issue.ts";
import { h, type Child } from "../dom.ts";
import { clock, dollars, tokens, words } from "../format.ts";
import { redraw } from "../redraw.ts";
import { hooksOf } from "./hooks.ts";
import { pluginsOf } from "./plugins.ts";
import { rulesOfMode } from "../session_mode.ts";
import type { Handlers, Tab } from "./panel.svelte.ts";
import type { OpenSession } from "./types.ts";

const AUDIT_PAGE = 50;

interface Given extends Pick<Handlers, "onError" | "onGone"> {
  /** Asks for the tab to be drawn once more. */
  again: () => void;
}

/** Does `work`; what is refused is told. */
type Act = (work: () => Promise<unknown>) => () => Promise<void>;

export class SessionTabs {
  readonly body: HTMLElement;
  readonly session: OpenSession;
  readonly given: Given;
  readonly bound: BoundIssue;
  #turn = 0;

  /** Draws into `body`. */
  constructor(body: HTMLElement, session: OpenSession, given: Given) {
    this.body = body;
    this.session = session;
    this.given = given;
    this.bound = new BoundIssue(session, given.onError);
  }

  async draw(tab: Tab): Promise<void> {
    if (tab === "changes" || tab === "files" || tab === "agent") return;
    const turn = (this.#turn += 1);
    try {
      const content = await this[`_${tab}` as const](this.session);
      if (turn === this.#turn) redraw(this.body, content);
    } catch (error) {
      if (turn === this.#turn) this.given.onError(error);
    }
  }

  /** What is on its way is for a tab that is no longer shown. */
  close(): void {
    this.#turn += 1;
  }

  async _issue(): Promise<Child> {
    return this.bound.load();
  }

  async _use(session: OpenSession): Promise<Child> {
    const { tokens: count, cost_usd: cost, context } = await request<Schemas["SessionDetail"]>("GET", session.path);
    const bars = context.map((use) => {
      const assumed = use.window_assumed ? " (assumed)" : "";
      const label = `${tokens(use.tokens)} of ${use.window.toLocaleString("en")}${assumed}`;
      return [
        h("h3", {}, `Context of ${use.agent_path}`),
        h("meter", { min: 0, max: 1, low: 0.7, high: 0.85, optimum: 0, value: use.fraction, "aria-label": label }),
        h("p", { class: "quiet" }, `${label} · ${use.model}`),
      ];
    });
    const split: [string, number | null][] = [["Primary", cost.primary], ["Subagents", cost.subagents], ["Compaction", cost.compactor]];
    return [
      bars,
      h("h3", {}, "Tokens"),
      pairs([["Input", count.input], ["Cache read", count.cache_read], ["Cache write", count.cache_write], ["Output", count.output], ["Reasoning (in output)", count.reasoning], ["Total", count.total]], (value) => value.toLocaleString("en")),
      h("h3", {}, "Cost"),
      pairs([...split.filter(([, value]) => value !== null), ["Total", cost.total]], (value) => dollars(value) || (count.total ? "not known" : "none yet")),
    ];
  }

  async _prompts(session: OpenSession): Promise<Child> {
    const { items: prompts } = await request<Schemas["PromptList"]>("GET", `${session.path}/prompts`);
    return prompts.map((prompt) => [
      h("h3", {}, prompt.agent_path),
      h("p", { class: "quiet" }, prompt.file),
      prompt.warnings.map((one) => h("p", { class: "prompt-warning" }, `${one.file}: ${one.reason}`)),
      prompt.parts.length ? prompt.parts.map((part) => promptPart(prompt.agent_path, part)) : h("pre", { class: "prompt", tabIndex: 0, data: { key: `prompt-${prompt.agent_path}` } }, prompt.content),
    ]);
  }

  async _tools(session: OpenSession): Promise<Child> {
    if (!session.detail) return null;
    const { mode, project_id: id } = session.detail;
    const project = encodeURIComponent(id);
    const tools = await allItems<Schemas["AgentToolAnswer"]>(`/projects/${project}/agents/primary/tools`);
    return [
      await rulesOfMode(mode),
      await pluginsOf(id, this.given),
      await hooksOf(id),
      h("h3", {}, "Tools"),
      h("p", { class: "quiet" }, "Tools of the primary agent, with the rule that decides each."),
      tools.map((tool) =>
        h(
          "details",
          { class: "tool-listed", data: { key: `tool-${tool.name}`, enabled: String(tool.enabled) } },
          h("summary", {}, h("strong", {}, tool.name), h("span", { class: "quiet" }, ` ${tool.enabled ? "" : "off · "}${tool.origin}`)),
          h("pre", { class: "prompt", tabIndex: 0 }, tool.description ?? ""),
          tool.parameters ? h("pre", { tabIndex: 0 }, JSON.stringify(tool.parameters, null, 2)) : null,
        ),
      ),
    ];
  }

  async _audit(session: OpenSession): Promise<Child> {
    const page = await request<Page<Schemas["AuditEntry"]> & { total: number }>("GET", address("/audit", { session_id: session.id, limit: AUDIT_PAGE }));
    return [
      h("p", { class: "quiet" }, `The newest ${page.items.length} of ${page.total} entries.`),
      page.items.map((row) =>
        h(
          "details",
          { class: "audit-row", data: { key: `audit-${row.id}` } },
          h("summary", {}, h("span", { class: "quiet" }, clock(row.created_at)), h("strong", {}, row.event), h("span", { class: "quiet" }, String(row.data["tool_name"] ?? ""))),
          h("pre", { tabIndex: 0 }, JSON.stringify({ actor: row.actor, agent: row.agent_path, run: row.run_id, ...row.data }, null, 2)),
        ),
      ),
    ];
  }

  async _session(session: OpenSession): Promise<Child> {
    const { detail } = session;
    if (!detail) return null;
    const act: Act = (work) => async () => {
      try {
        await work();
      } catch (error) {
        this.given.onError(error);
      }
    };
    const remove = act(async () => {
      await request("DELETE", session.path);
      this.given.onGone(session.id);
    });
    return [
      pairs([["Id", detail.id], ["State", words(detail.state)], ["Created by", detail.created_by], ["Created", new Date(detail.created_at).toLocaleString()]], String),
      h("h3", {}, "Title"),
      this.#rename(session, detail.title, act),
      h("h3", {}, "In a terminal"),
      h("pre", { tabIndex: 0, data: { key: "attach" } }, `kaged attach ${detail.id}`),
      h(
        "div",
        { class: "row wrap", data: { key: "session-acts" } },
        h("a", { class: "button", href: downloadAddress(`${session.path}/export`), download: "" }, "Export"),
        h("button", { type: "button", disabled: detail.state === "running" || detail.state === "archived", onclick: act(() => request("POST", `${session.path}/archive`).then(() => session.refresh()).then(() => this.given.again())) }, "Archive"),
        confirmed("Delete", "Delete for good?", remove),
      ),
    ];
  }

  #rename(session: OpenSession, title: string, act: Act): HTMLFormElement {
    const field = h("input", { defaultValue: title, maxLength: 200, "aria-label": "Title", data: { key: "session-title" } });
    const save = act(async () => {
      await request("PATCH", session.path, { title: field.value });
      await session.refresh();
    });
    return h("form", { class: "row", onsubmit: (event) => { event.preventDefault(); void save(); } }, field, h("button", { type: "submit", data: { key: "rename" } }, "Rename"));
  }
}

function pairs<Value>(entries: [string, Value][], shown: (value: Value) => string): HTMLElement {
  return h("dl", { class: "pairs" }, entries.map(([name, value]) => [h("dt", {}, name), h("dd", {}, shown(value))]));
}

/** Return one part of a system prompt with its origin. Only the agent's own prompt is open. */
function promptPart(agent: string, part: Schemas["NextPart"]): HTMLElement {
  const kind = part.name.split(":")[0];
  return h(
    "details",
    { class: "prompt-part", data: { key: `prompt-${agent}-${part.name}`, name: part.name }, open: part.name === "agent" },
    h("summary", {}, h("strong", {}, part.origin ?? kind), h("span", { class: "quiet" }, `${part.origin ? ` ${kind}` : ""} · about ${tokens(part.tokens)}`)),
    h("pre", { class: "prompt", tabIndex: 0 }, part.text),
  );
}

/** Return a button that asks for confirmation before it does `work`. */
function confirmed(label: string, question: string, work: () => Promise<void>): HTMLButtonElement {
  const button = h("button", { type: "button", class: "danger" }, label);
  let asked = false;
  button.addEventListener("click", () => {
    if (asked) void work();
    asked = true;
    button.textContent = question;
  });
  button.addEventListener("blur", () => {
    asked = false;
    button.textContent = label;
  });
  return button;
}
