// The hooks of a session's project: event, command, source, how the newest run ended, and the last failure.

import { request, type Schemas } from "../api.ts";
import { h, type Child } from "../dom.ts";
import { clock, words } from "../format.ts";

type Hook = Schemas["HookAnswer"];

/** Return the list of the hooks that run in a project, nothing when it has none. */
export async function hooksOf(projectId: string): Promise<Child> {
  const { items: hooks } = await request<Schemas["HookList"]>("GET", `/projects/${encodeURIComponent(projectId)}/hooks`);
  return hooks.length ? [h("h3", {}, "Hooks"), hooks.map(row)] : [];
}

function row(hook: Hook): HTMLElement {
  const failed = hook.state === "failed";
  return h(
    "details",
    { class: "hook-listed", data: { key: `hook-${hook.source}-${hook.name}-${hook.state}`, hook: hook.name, state: hook.state }, open: failed },
    h("summary", {}, h("strong", {}, hook.name), h("span", { class: "quiet" }, `${words(hook.state)} · ${hook.event} · ${hook.source}`)),
    hook.last_failure ? h("p", { class: "hook-failure", role: failed ? "status" : null }, `${clock(hook.last_failure.at)}: ${hook.last_failure.reason}`) : null,
    h("p", { class: "quiet" }, counts(hook)),
    h("pre", { tabIndex: 0 }, Array.isArray(hook.command) ? hook.command.join(" ") : hook.command),
    hook.match.length ? h("ul", {}, hook.match.map((one) => h("li", {}, h("code", {}, `${one.permission} ${one.pattern}`)))) : null,
  );
}

function counts({ runs, failures, agents }: Hook): string {
  const ran = runs ? `${runs} run${runs === 1 ? "" : "s"}, ${failures} failed` : "No runs since the daemon started";
  return agents ? `${ran}. For ${agents.join(", ")}.` : `${ran}.`;
}
