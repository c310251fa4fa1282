// The files of an issue: upload, download and removal.

import { downloadAddress, request } from "./api.ts";
import { actButton } from "./act.ts";
import { h, redraw, replace } from "./dom.ts";
import { takeDrops } from "./file_field.ts";
import { size } from "./format.ts";
import { upload } from "./upload.ts";

export class IssueAttachments {
  #stop = new AbortController();

  constructor({ path, project, onError, onChanged }) {
    Object.assign(this, { path, project, onError, onChanged });
    this.list = h("ul", { class: "attachments" });
    this.sending = h("div", { class: "file-state", role: "status" });
    const input = h("input", { type: "file", multiple: true, id: "attach", "aria-label": "Attach files" });
    const drop = h("div", { class: "drop" }, input, h("span", { class: "quiet" }, "or drop files here"), this.sending);
    input.addEventListener("change", () => this.#take([...input.files]).then(() => (input.value = "")));
    takeDrops(drop, (files) => this.#take(files));
    this.root = h("section", { "aria-label": "Attachments" }, h("h3", {}, "Attachments"), this.list, drop);
  }

  close() {
    this.#stop.abort();
  }

  show(issue) {
    redraw(this.list, issue.attachments.map((file) => this.#item(file)));
  }

  #item(file) {
    const address = downloadAddress(`/uploads/${encodeURIComponent(file.id)}/content`);
    const remove = actButton("✕", () => this.#remove(file.id), { onError: this.onError, key: `detach-${file.id}`, class: "icon", "aria-label": `Remove ${file.name}` });
    return h("li", {}, h("a", { href: address, download: file.name }, file.name), h("span", { class: "quiet" }, ` ${size(file.size_bytes)}`), remove);
  }

  async #take(files) {
    for (const file of files) {
      const bar = h("progress", { max: 1, value: 0, "aria-label": `Uploading ${file.name}` });
      replace(this.sending, h("span", {}, file.name), bar);
      try {
        const made = await upload(`/uploads?project_id=${encodeURIComponent(this.project)}`, file, { onProgress: (part) => (bar.value = part), signal: this.#stop.signal });
        await request("POST", `${this.path}/attachments`, { upload_ids: [made.id] });
        await this.onChanged();
      } catch (error) {
        if (error.code !== "stopped") this.onError(error);
      }
      replace(this.sending);
    }
  }

  async #remove(id) {
    await request("DELETE", `${this.path}/attachments/${encodeURIComponent(id)}`);
    await this.onChanged();
  }
}
