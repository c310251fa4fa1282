// Errors, shown at the top until somebody closes them.

import type { Schemas } from "./api.ts";
import { byId, h, type Child } from "./dom.ts";

/** What went wrong, as `ApiError` says it. */
export interface Trouble {
  message: string;
  status?: number;
  code?: string | number;
  details?: unknown;
  requestId?: string | undefined;
}

/** What the daemon says of a refusal. */
interface Details {
  diagnostics?: Schemas["Diagnostic"][];
  fields?: Record<string, string>;
}

const MOST = 3;

/** Show an error. The same text is shown once. */
export function tell(error: Trouble): void {
  const root = byId("notices");
  shown().find((notice) => notice.dataset.text === error.message)?.remove();
  while (root.children.length >= MOST) root.firstElementChild?.remove();
  const close = h("button", { type: "button", class: "icon", "aria-label": "Close this message" }, "✕");
  const notice = h(
    "div",
    { class: "notice", data: { text: error.message, code: String(error.code ?? "") } },
    h("div", {}, h("p", {}, error.message), findings((error.details ?? {}) as Details), error.requestId ? h("p", { class: "quiet" }, `Request ${error.requestId}`) : null),
    close,
  );
  close.addEventListener("click", () => notice.remove());
  root.append(notice);
}

/** Remove the notices with this code, which no longer apply. */
export function forget(code: string): void {
  for (const notice of shown()) if (notice.dataset.code === code) notice.remove();
}

export function clearNotices(): void {
  byId("notices").replaceChildren();
}

function shown(): HTMLElement[] {
  return [...byId("notices").querySelectorAll<HTMLElement>(":scope > *")];
}

/** Diagnostics of a project file, or what is wrong with each field. */
function findings({ diagnostics = [], fields = {} }: Details): Child {
  const lines = diagnostics.map((found) => `${found.file}:${found.line}:${found.column}: ${found.severity}: ${found.message}`);
  for (const [field, problem] of Object.entries(fields)) lines.push(`${field}: ${problem}`);
  return lines.length ? h("ul", {}, lines.map((line) => h("li", {}, h("code", {}, line)))) : null;
}
