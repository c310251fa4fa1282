// A file field: choose or drop a file, upload it at once with its progress, and remove it.

import type { ApiError } from "./api.ts";
import { h, replace } from "./dom.ts";
import { size } from "./format.ts";
import { sizeProblem, upload, type Uploaded } from "./upload.ts";

/** The file is sent to `uploadPath` at once, unless it is too large;
 * `onProblem(text)` gets the reason why a file was not uploaded. */
export class FileField {
  readonly uploadPath: string;
  readonly onProblem: (problem: string) => void;
  readonly input: HTMLInputElement;
  readonly state: HTMLElement;
  readonly root: HTMLElement;
  uploaded: Uploaded | null = null;
  /** Why the form cannot be sent as it is: a file is on its way, or could not be handed in. */
  problem: string | null = null;
  #stop: AbortController | null = null;

  constructor(id: string, { uploadPath, onProblem }: { uploadPath: string; onProblem: (problem: string) => void }) {
    this.onProblem = onProblem;
    this.uploadPath = uploadPath;
    this.input = h("input", { id, type: "file" });
    this.state = h("div", { class: "file-state", role: "status" });
    this.root = h("div", { class: "drop" }, this.input, h("span", { class: "quiet" }, "or drop it here"), this.state);
    this.input.addEventListener("change", () => this.#takeFirst([...(this.input.files ?? [])]));
    takeDrops(this.root, (files) => this.#takeFirst(files));
  }

  close(): void {
    this.#stop?.abort();
  }

  #takeFirst([file]: File[]): void {
    if (file) void this.#take(file);
  }

  async #take(file: File): Promise<void> {
    this.close();
    this.uploaded = null;
    const tooLarge = sizeProblem(file);
    if (tooLarge) {
      this.#refuse(tooLarge);
      return;
    }
    const stop = (this.#stop = new AbortController());
    const bar = h("progress", { max: 1, value: 0, "aria-label": `Uploading ${file.name}` });
    this.problem = "is still on its way";
    replace(this.state, h("span", {}, `${file.name} (${size(file.size)}) `), bar, this.#button("Stop"));
    try {
      const uploaded = await upload(this.uploadPath, file, { onProgress: (part) => (bar.value = part), signal: stop.signal });
      if (stop !== this.#stop) return;
      this.uploaded = uploaded;
      this.problem = null;
      replace(this.state, h("span", { class: "file-taken" }, `✓ ${uploaded.name} (${size(uploaded.size_bytes)}) `), this.#button("Remove"));
      this.input.dispatchEvent(new Event("input"));
    } catch (error) {
      const { code, message } = error as ApiError;
      if (stop === this.#stop && code !== "stopped") this.#refuse(message);
    }
  }

  #button(label: string): HTMLButtonElement {
    return h("button", { type: "button", onclick: () => this.#clear() }, label);
  }

  #clear(): void {
    this.close();
    this.#stop = null;
    this.uploaded = null;
    this.problem = null;
    this.input.value = "";
    replace(this.state);
    this.input.focus();
  }

  #refuse(problem: string): void {
    this.problem = problem;
    replace(this.state);
    this.onProblem(problem);
  }
}

/** Call `taken(files)` with what is dropped on the element; it is marked while something is held over it. */
export function takeDrops(element: HTMLElement, taken: (files: File[]) => void): void {
  const holds = (event: DragEvent) => event.dataTransfer?.types.includes("Files");
  element.addEventListener("dragover", (event) => {
    if (!holds(event)) return;
    event.preventDefault();
    element.dataset.over = "";
  });
  element.addEventListener("dragleave", () => delete element.dataset.over);
  element.addEventListener("drop", (event) => {
    if (!holds(event)) return;
    event.preventDefault();
    delete element.dataset.over;
    const files = [...(event.dataTransfer?.files ?? [])];
    if (files.length) taken(files);
  });
}
