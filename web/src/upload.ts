// The upload of a file, with its progress.

import { API } from "./address.ts";
import { ApiError, address, csrfHeader, type Schemas } from "./api.ts";
import { size } from "./format.ts";

const LARGEST = Number(document.documentElement.dataset.largestUpload);

export type Uploaded = Schemas["UploadAnswer"];

interface Given {
  onProgress?: ((part: number) => void) | undefined;
  signal?: AbortSignal | undefined;
}

/** Return why a file cannot be uploaded, null when it can. */
export function sizeProblem(file: File): string | null {
  return file.size > LARGEST ? `${file.name} has ${size(file.size)}; an upload has at most ${size(LARGEST)}.` : null;
}

/** Send `file` to `path` and return the daemon's answer. `onProgress(fraction)` is called while it goes;
 * `signal` stops it. Throws `ApiError`, with the code `stopped` when it was stopped. */
export function upload(path: string, file: File, { onProgress, signal }: Given = {}): Promise<Uploaded> {
  return new Promise((done, failed) => {
    const tooLarge = sizeProblem(file);
    if (tooLarge) throw new ApiError(0, { code: "payload_too_large", message: tooLarge });
    // `fetch` cannot say how much of a body has gone.
    const sending = new XMLHttpRequest();
    sending.open("POST", API + address(path, { name: file.name }));
    for (const [name, value] of Object.entries(csrfHeader())) sending.setRequestHeader(name, value);
    sending.setRequestHeader("Content-Type", file.type || "application/octet-stream");
    sending.responseType = "json";
    sending.upload.addEventListener("progress", (event) => event.lengthComputable && onProgress?.(event.loaded / event.total));
    sending.addEventListener("load", () => {
      if (sending.status >= 200 && sending.status < 300) done(sending.response as Uploaded);
      else failed(new ApiError(sending.status, sending.response?.error ?? { code: "failed", message: `The daemon answered with status ${sending.status}.` }));
    });
    sending.addEventListener("error", () => failed(new ApiError(0, { code: "unreachable", message: `${file.name} did not reach the daemon: it is too large, or the daemon does not answer.` })));
    sending.addEventListener("abort", () => failed(new ApiError(0, { code: "stopped", message: `${file.name} was not uploaded.` })));
    signal?.addEventListener("abort", () => sending.abort());
    sending.send(file);
  });
}
