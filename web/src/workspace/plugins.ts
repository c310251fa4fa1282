// The plugins of a session's project: their state, the reason of a failure, and the button that enables one.

import { request, type Schemas } from "../api.ts";
import { h, type Child } from "../dom.ts";

type Plugin = Schemas["PluginAnswer"];

/** No event says that a plugin has started, or could not. */
const STARTING_MS = 1_000;

interface Given {
  /** Draws the list again. */
  again: () => unknown;
  onError: (error: unknown) => void;
}

/** Return the list of a project's plugins, nothing when it has none. */
export async function pluginsOf(projectId: string, { again, onError }: Given): Promise<Child> {
  const path = `/projects/${encodeURIComponent(projectId)}/plugins`;
  const { items: plugins } = await request<Schemas["PluginList"]>("GET", path);
  const enable = (plugin: Plugin) => async () => {
    try {
      await request("POST", `${path}/${encodeURIComponent(plugin.name)}/enable`);
      again();
    } catch (error) {
      onError(error);
    }
  };
  if (plugins.some(({ state }) => state === "starting")) setTimeout(again, STARTING_MS);
  return plugins.length ? [h("h3", {}, "Plugins"), plugins.map((plugin) => row(plugin, enable(plugin)))] : [];
}

function row(plugin: Plugin, enable: () => Promise<void>): HTMLElement {
  const wrong = plugin.state === "disabled" || plugin.state === "unusable";
  return h(
    "details",
    { class: "plugin-listed", data: { key: `plugin-${plugin.agent_path}-${plugin.name}-${plugin.state}`, plugin: plugin.name, state: plugin.state }, open: wrong },
    h("summary", {}, h("strong", {}, plugin.name), h("span", { class: "quiet" }, ` ${plugin.state} · ${plugin.agent_path}`)),
    plugin.reason ? h("p", { role: "status" }, plugin.reason) : null,
    plugin.description ? h("p", { class: "quiet" }, plugin.description) : null,
    plugin.log.length ? h("pre", { tabIndex: 0 }, plugin.log.join("\n")) : null,
    plugin.state === "disabled" ? h("button", { type: "button", onclick: enable }, "Enable") : null,
  );
}
