// Buttons and forms that send requests: one at a time, with refusals shown.

import { h, type Child, type Properties } from "./dom.ts";

type Work = () => Promise<unknown>;
type OnError = (error: unknown) => void;
/** `key` names the button, for the focus. */
type ButtonGiven = Properties<"button"> & { onError: OnError; key?: string | undefined };

/** Return a button that does `work()` when it is pressed; it takes no second press meanwhile. */
export function actButton(label: string, work: Work, { onError, key, ...properties }: ButtonGiven): HTMLButtonElement {
  const button = h("button", { type: "button", ...properties, data: { ...properties.data, ...(key ? { key } : {}) } }, label);
  button.addEventListener("click", () => doing([button], work, onError));
  return button;
}

/** Return a form that does `work(form)` when it is sent. */
export function actForm(properties: Properties<"form">, work: (form: HTMLFormElement) => Promise<unknown>, onError: OnError, ...children: Child[]): HTMLFormElement {
  const form = h("form", properties, children);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    doing([...form.querySelectorAll("button")], () => work(form), onError);
  });
  return form;
}

/** Do `work()`; `controls` are off meanwhile, and the focus returns to the one that had it. Returns
 * whether it went well. */
export async function doing(controls: HTMLElement[], work: Work, onError: OnError): Promise<boolean> {
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
