// Errors, shown at the top until somebody closes them.

import { byId, h } from "./dom.ts";

const MOST = 3;

/** Show an error. The same text is shown once. */
export function tell(error) {
  const root = byId("notices");
  const known = [...root.children].find((notice) => notice.dataset.text === error.message);
  known?.remove();
  while (root.children.length >= MOST) root.firstChild.remove();
  const close = h("button", { type: "button", class: "icon", "aria-label": "Close this message" }, "✕");
  const notice = h(
    "div",
    { class: "notice", data: { text: error.message, code: error.code ?? "" } },
    h("div", {}, h("p", {}, error.message), findings(error.details), error.requestId ? h("p", { class: "quiet" }, `Request ${error.requestId}`) : null),
    close,
  );
  close.addEventListener("click", () => notice.remove());
  root.append(notice);
}

/** Remove the notices with this code, which no longer apply. */
export function forget(code) {
  for (const notice of [...byId("notices").children]) if (notice.dataset.code === code) notice.remove();
}

export function clearNotices() {
  byId("notices").replaceChildren();
}

/** Diagnostics of a project file, or what is wrong with each field. */
function findings(details = {}) {
  const lines = (details.diagnostics ?? []).map((found) => `${found.file}:${found.line}:${found.column}: ${found.severity}: ${found.message}`);
  for (const [field, problem] of Object.entries(details.fields ?? {})) lines.push(`${field}: ${problem}`);
  return lines.length ? h("ul", {}, lines.map((line) => h("li", {}, h("code", {}, line)))) : null;
}
