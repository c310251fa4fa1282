// Rewind and fork: removed messages stay readable in a fold, and each message offers to rewind to it or to fork
// the session there.

import { create, request } from "./api.js";
import { h, replace } from "./dom.js";

const WHY = { rbk: "rolled back", cmp: "compacted" };

/** The history of the open session. `path()` is the session's address. */
export class History {
  constructor({ path, onChanged, onFork, onError }) {
    this.path = path;
    this.onChanged = onChanged;
    this.onFork = onFork;
    this.onError = onError;
  }

  /** Return the buttons of one message of the root agent. */
  actions(id) {
    const panel = h("div", { class: "history-panel", hidden: true });
    const back = h("button", { type: "button", class: "link", data: { act: "rollback" }, onclick: () => this.#ask(id, panel) }, "Rewind to here");
    const fork = h("button", { type: "button", class: "link", data: { act: "fork" }, onclick: () => this.#do(panel, () => this.#fork(id)) }, "Fork");
    return h("div", { class: "history quiet" }, back, fork, panel);
  }

  /** Return an empty fold for messages that `by` took out of the conversation. */
  fold(by) {
    const why = WHY[by?.slice(0, 3)] ?? "removed";
    const count = h("span", {});
    const undo = by?.startsWith("rbk_")
      ? h("button", { type: "button", class: "link", data: { act: "undo" }, onclick: (event) => { event.preventDefault(); this.#do(null, () => this.#undo(by)); } }, "Restore")
      : null;
    const root = h("details", { class: "superseded", data: { by: by ?? "" } }, h("summary", { class: "quiet" }, count, " ", undo));
    let messages = 0;
    return {
      root,
      add: () => {
        messages += 1;
        count.textContent = `${messages} message${messages === 1 ? "" : "s"} ${why}`;
      },
    };
  }

  #ask(id, panel) {
    const close = () => (panel.hidden = true);
    const go = (more) => this.#do(panel, () => this.#goBack(id, more));
    panel.hidden = false;
    replace(
      panel,
      h("p", {}, "Later messages are removed from the conversation. You can restore them until you post a new message."),
      h("div", { class: "row wrap" }, button("Rewind", "back", () => go({})), button("Rewind with files…", "files", () => this.#do(panel, () => this.#stage(id, panel), false)), button("Cancel", "close", close)),
    );
    panel.querySelector("button").focus();
  }

  async #stage(id, panel) {
    const staged = await request("POST", `${this.path()}/rollback`, { message_id: id, files: true, stage: true });
    const shown = staged.restored.map((file) =>
      h("details", {}, h("summary", {}, `${file.change === "created" ? "is recreated" : file.change === "deleted" ? "is deleted" : "is restored"}: ${file.path}`), file.diff ? h("pre", { tabIndex: 0 }, file.diff) : null),
    );
    const left = staged.conflicts.map((file) => h("li", {}, `${file.path}: ${file.reason}`));
    replace(
      panel,
      h("p", {}, staged.restored.length ? "Files that agents wrote since:" : "No file needs to be restored."),
      shown,
      left.length ? [h("p", {}, "Not restored, because others changed them:"), h("ul", {}, left)] : null,
      h("div", { class: "row wrap" }, button("Rewind conversation and files", "commit", () => this.#do(panel, () => this.#goBack(id, { files: true, plan: staged.plan }))), button("Cancel", "close", () => (panel.hidden = true))),
    );
  }

  async #goBack(id, more) {
    await request("POST", `${this.path()}/rollback`, { message_id: id, ...more });
  }

  async #undo(rollbackId) {
    await request("POST", `${this.path()}/rollbacks/${rollbackId}/undo`, {});
  }

  async #fork(id) {
    const made = await create(`${this.path()}/fork`, { message_id: id });
    this.onFork(made);
  }

  async #do(panel, work, last = true) {
    try {
      await work();
      if (last && panel) panel.hidden = true;
      if (last) this.onChanged();
    } catch (error) {
      this.onError(error);
    }
  }
}

function button(label, name, work) {
  return h("button", { type: "button", data: { act: name }, onclick: work }, label);
}
