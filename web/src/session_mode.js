// The mode of the open session: how much it asks. A selector, and the rules that the mode stands for.

import { request } from "./api.js";
import { byId, h, replace } from "./dom.js";

let known = null;

/** Return the modes of the daemon, read once. */
export async function modes() {
  known ??= (await request("GET", "/modes")).items;
  return known;
}

export class ModeSelect {
  #session = null;

  constructor({ onError }) {
    this.onError = onError;
    this.select = byId("session-mode");
    this.select.addEventListener("change", () => this.#change());
  }

  /** Show and change the mode of this session from now on; null shows none. */
  async open(session) {
    this.#session = session;
    if (!session) return;
    const offered = await modes();
    if (session !== this.#session) return;
    replace(this.select, offered.map(({ name, label, description }) => h("option", { value: name, title: description }, label)));
    if (session.detail) this.update(session.detail);
  }

  update({ mode, state }) {
    this.select.value = mode;
    this.select.disabled = state === "archived";
    this.select.dataset.mode = mode;
    this.select.title = known?.find(({ name }) => name === mode)?.description ?? "";
  }

  async #change() {
    const session = this.#session;
    try {
      await request("PATCH", session.path, { mode: this.select.value });
    } catch (error) {
      this.onError(error);
    }
    // What counts is what the daemon has stored.
    await session.refresh().catch(this.onError);
  }
}

/** Return the rules of a mode as a list, for the panel of the session. */
export async function rulesOfMode(name) {
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
