// A file field: choose or drop a file, upload it at once with its progress, and remove it.

import { h, replace } from "./dom.ts";
import { size } from "./format.js";
import { sizeProblem, upload } from "./upload.js";

/** The file is sent to `uploadPath` at once, unless it is too large;
 * `onProblem(text)` gets the reason why a file was not uploaded. */
export class FileField {
  #stop = null;

  constructor(id, { uploadPath, onProblem }) {
    this.onProblem = onProblem;
    this.uploadPath = uploadPath;
    this.uploaded = null;
    /** Why the form cannot be sent as it is: a file is on its way, or could not be handed in. */
    this.problem = null;
    this.input = h("input", { id, type: "file" });
    this.state = h("div", { class: "file-state", role: "status" });
    this.root = h("div", { class: "drop" }, this.input, h("span", { class: "quiet" }, "or drop it here"), this.state);
    this.input.addEventListener("change", () => this.input.files[0] && this.#take(this.input.files[0]));
    takeDrops(this.root, ([file]) => this.#take(file));
  }

  close() {
    this.#stop?.abort();
  }

  async #take(file) {
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
      if (stop === this.#stop && error.code !== "stopped") this.#refuse(error.message);
    }
  }

  #button(label) {
    return h("button", { type: "button", onclick: () => this.#clear() }, label);
  }

  #clear() {
    this.close();
    this.#stop = null;
    this.uploaded = null;
    this.problem = null;
    this.input.value = "";
    replace(this.state);
    this.input.focus();
  }

  #refuse(problem) {
    this.problem = problem;
    replace(this.state);
    this.onProblem(problem);
  }
}

/** Call `taken(files)` with what is dropped on the element; it is marked while something is held over it. */
export function takeDrops(element, taken) {
  const holds = (event) => event.dataTransfer?.types.includes("Files");
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
    if (event.dataTransfer.files.length) taken([...event.dataTransfer.files]);
  });
}
