// The modes of sessions: how much each asks, and the rules that it stands for.

import { request, type Schemas } from "./api.ts";
import { h, type Child } from "./dom.ts";

let known: Schemas["ModeAnswer"][] | null = null;

/** Return the modes of the daemon, read once. */
export async function modes(): Promise<Schemas["ModeAnswer"][]> {
  known ??= (await request<Schemas["ModeList"]>("GET", "/modes")).items;
  return known;
}

/** Return the rules of a mode as a list, for the panel of the session. */
export async function rulesOfMode(name: string): Promise<Child> {
  const mode = (await modes()).find((one) => one.name === name);
  if (!mode) return null;
  return [
    h("h3", {}, `Mode: ${mode.label}`),
    h("p", { class: "quiet" }, mode.description),
    mode.rules.length
      ? h("ul", { class: "mode-rules" }, mode.rules.map((rule) => h("li", { data: { action: rule.action } }, `${rule.action} `, h("code", {}, `${rule.permission} ${rule.pattern}`))))
      : null,
  ];
}
