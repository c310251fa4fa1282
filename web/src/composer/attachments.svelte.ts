// The images and files of a message that is being written.

import { request } from "../api.ts";
import { size } from "../format.ts";
import { sizeProblem, upload } from "../upload.ts";

const IMAGES = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);
/** A message has at most so many, and a request at most 10 MiB. */
const MOST = 20;
const LARGEST_IMAGES = 9 * 1024 * 1024;

export class Attachment {
  readonly id = crypto.randomUUID?.() ?? String(Math.random());
  readonly file: File;
  readonly name: string;
  readonly image: boolean;
  /** How much of a file has arrived, from 0 to 1. */
  progress = $state(0);
  state = $state<"coming" | "here">("coming");
  /** The image as base64; of a file what the daemon calls it. */
  data = "";
  /** The address of the image, for the page. */
  preview = $state<string | null>(null);
  readonly stop = new AbortController();

  constructor(file: File) {
    this.file = file;
    this.name = file.name || "image";
    this.image = IMAGES.has(file.type);
  }

  get about(): string {
    return `${this.name}, ${size(this.file.size)}`;
  }
}

/** Those of one session. */
export class Attachments {
  list = $state<Attachment[]>([]);

  readonly #projectId: string;
  readonly #onProblem: (error: { message: string }) => void;

  constructor(projectId: string, onProblem: (error: { message: string }) => void) {
    this.#projectId = projectId;
    this.#onProblem = onProblem;
  }

  get arriving(): boolean {
    return this.list.some((one) => one.state === "coming");
  }

  add(files: readonly File[]): void {
    for (const file of files) {
      const problem = this.#problem(file);
      if (problem) {
        this.#onProblem({ message: problem });
        continue;
      }
      this.list.push(new Attachment(file));
      // What is in the list is watched, what was put there is not.
      this.#take(this.list.at(-1)!);
    }
  }

  remove(attachment: Attachment): void {
    attachment.stop.abort();
    if (!attachment.image && attachment.data) request("DELETE", `/uploads/${attachment.data}`).catch(() => {});
    this.list = this.list.filter((one) => one.id !== attachment.id);
  }

  /** They were sent: forget them. */
  clear(): void {
    this.list = [];
  }

  /** What a message says of them. */
  get body(): { attachments?: { type: "image"; media_type: string; data: string }[]; upload_ids?: string[] } {
    const images = this.list.filter((one) => one.image);
    const files = this.list.filter((one) => !one.image);
    return {
      ...(images.length ? { attachments: images.map(({ file, data }) => ({ type: "image" as const, media_type: file.type, data })) } : {}),
      ...(files.length ? { upload_ids: files.map(({ data }) => data) } : {}),
    };
  }

  #problem(file: File): string | null {
    if (this.list.length >= MOST) return `A message has at most ${MOST} images and files; ${file.name} is left out.`;
    if (!IMAGES.has(file.type)) return sizeProblem(file);
    if (file.size === 0) return `${file.name} is left out: it is empty.`;
    const images = [file, ...this.list.filter((one) => one.image).map((one) => one.file)];
    const bytes = images.reduce((sum, one) => sum + (one.size * 4) / 3, 0);
    return bytes > LARGEST_IMAGES ? `${file.name} is left out: the images of a message have at most ${size((LARGEST_IMAGES * 3) / 4)} together.` : null;
  }

  async #take(attachment: Attachment): Promise<void> {
    try {
      attachment.data = attachment.image ? await base64(attachment.file) : await this.#upload(attachment);
      if (attachment.image) attachment.preview = `data:${attachment.file.type};base64,${attachment.data}`;
      attachment.state = "here";
    } catch (error) {
      this.remove(attachment);
      if ((error as { code?: string }).code !== "stopped") this.#onProblem(error as Error);
    }
  }

  async #upload(attachment: Attachment): Promise<string> {
    const path = `/uploads?project_id=${encodeURIComponent(this.#projectId)}`;
    const onProgress = (part: number) => (attachment.progress = part);
    return (await upload(path, attachment.file, { onProgress, signal: attachment.stop.signal })).id;
  }
}

function base64(file: File): Promise<string> {
  return new Promise((done, failed) => {
    const reader = new FileReader();
    reader.addEventListener("load", () => done(String(reader.result).replace(/^[^,]*,/, "")));
    reader.addEventListener("error", () => failed({ message: `${file.name} cannot be read.` }));
    reader.readAsDataURL(file);
  });
}
