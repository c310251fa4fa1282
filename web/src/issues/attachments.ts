// The files of an issue: upload, download and removal.

import { ApiError, downloadAddress, request, type Schemas } from "../api.ts";
import { actButton } from "../act.ts";
import { h, replace } from "../dom.ts";
import { takeDrops } from "../file_field.ts";
import { size } from "../format.ts";
import { redraw } from "../redraw.ts";
import { upload } from "../upload.ts";
import type { Issue, PartGiven } from "./types.ts";

export class IssueAttachments {
  readonly root: HTMLElement;
  readonly #given: PartGiven;
  readonly #list: HTMLElement;
  readonly #sending: HTMLElement;
  readonly #stop = new AbortController();

  constructor(given: PartGiven) {
    this.#given = given;
    this.#list = h("ul", { class: "attachments" });
    this.#sending = h("div", { class: "file-state", role: "status" });
    const input = h("input", { type: "file", multiple: true, id: "attach", "aria-label": "Attach files" });
    const drop = h("div", { class: "drop" }, input, h("span", { class: "quiet" }, "or drop files here"), this.#sending);
    input.addEventListener("change", () => this.#take([...(input.files ?? [])]).then(() => (input.value = "")));
    takeDrops(drop, (files) => this.#take(files));
    this.root = h("section", { "aria-label": "Attachments" }, h("h3", {}, "Attachments"), this.#list, drop);
  }

  close(): void {
    this.#stop.abort();
  }

  show(issue: Issue): void {
    redraw(this.#list, issue.attachments.map((file) => this.#item(file)));
  }

  #item(file: Schemas["UploadAnswer"]): HTMLElement {
    const address = downloadAddress(`/uploads/${encodeURIComponent(file.id)}/content`);
    const remove = actButton("✕", () => this.#remove(file.id), { onError: this.#given.onError, key: `detach-${file.id}`, class: "icon", "aria-label": `Remove ${file.name}` });
    return h("li", { data: { key: `file-${file.id}` } }, h("a", { href: address, download: file.name }, file.name), h("span", { class: "quiet" }, ` ${size(file.size_bytes)}`), remove);
  }

  async #take(files: File[]): Promise<void> {
    const { path, project, onChanged, onError } = this.#given;
    for (const file of files) {
      const bar = h("progress", { max: 1, value: 0, "aria-label": `Uploading ${file.name}` });
      replace(this.#sending, h("span", {}, file.name), bar);
      try {
        const made = await upload(`/uploads?project_id=${encodeURIComponent(project)}`, file, { onProgress: (part) => (bar.value = part), signal: this.#stop.signal });
        await request("POST", `${path}/attachments`, { upload_ids: [made.id] });
        await onChanged();
      } catch (error) {
        if (!(error instanceof ApiError && error.code === "stopped")) onError(error);
      }
      replace(this.#sending);
    }
  }

  async #remove(id: string): Promise<void> {
    await request("DELETE", `${this.#given.path}/attachments/${encodeURIComponent(id)}`);
    await this.#given.onChanged();
  }
}
