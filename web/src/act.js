// Buttons and forms that send requests: one at a time, with refusals shown.

import { h } from "./dom.ts";

/** Return a button that does `work()` when it is pressed; it takes no second press meanwhile. */
export function actButton(label, work, { onError, key, ...properties } = {}) {
  const button = h("button", { type: "button", ...properties, data: { ...properties.data, ...(key ? { key } : {}) } }, label);
  button.addEventListener("click", () => doing([button], work, onError));
  return button;
}

/** Return a form that does `work(form)` when it is sent. */
export function actForm(properties, work, onError, ...children) {
  const form = h("form", properties, children);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    doing([...form.querySelectorAll("button")], () => work(form), onError);
  });
  return form;
}

/** Do `work()`; `controls` are off meanwhile, and the focus returns to the one that had it. Returns
 * whether it went well. */
export async function doing(controls, work, onError) {
  if (controls.some((control) => control.getAttribute("aria-disabled") === "true")) return false;
  // A control that is disabled loses the focus; one that only says so keeps it.
  for (const control of controls) control.setAttribute("aria-disabled", "true");
  try {
    await work();
    return true;
  } catch (error) {
    onError(error);
    return false;
  } finally {
    for (const control of controls) control.removeAttribute("aria-disabled");
  }
}
