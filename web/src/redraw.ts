// Lists and tabs whose content is drawn anew when it changes.

import { replace, type Child } from "./dom.ts";

/** What a pointer or the space bar holds down. */
let pressed: Element | null = null;
/** What is drawn once nothing is held down. */
const waiting = new Map<HTMLElement, Child[]>();

function press({ target }: Event): void {
  pressed = target as Element;
}

function release(): void {
  if (!pressed) return;
  pressed = null;
  // The click comes first, and finds what was pressed.
  setTimeout(() => waiting.forEach((children, element) => redraw(element, ...children)));
}

addEventListener("pointerdown", (event) => event.button === 0 && press(event), true);
addEventListener("keydown", (event) => event.key === " " && press(event), true);
for (const end of ["pointerup", "pointercancel", "contextmenu", "keyup"]) addEventListener(end, release, true);
addEventListener("blur", release);
// Some lists of the browser end a press without a word.
addEventListener("pointermove", (event) => event.buttons || release(), true);

/** Put new children in place of the old ones, as `replace`. What has the same `data-key` before and after
 * keeps what was typed into it, and whether it is open; the focus stays on it and on what it contains.
 * While something in the element is pressed, the old ones stay: a click is on the element that it began on. */
export function redraw(element: HTMLElement, ...children: Child[]): void {
  waiting.delete(element);
  if (pressed && element.contains(pressed)) {
    waiting.set(element, children);
    return;
  }
  const kept = new Map(keyed(element).map((old) => [old.dataset.key, old]));
  const active = document.activeElement;
  const focused = active instanceof HTMLElement && element.contains(active) && active !== element ? active : null;
  const selection = focused && isText(focused) ? ([focused.selectionStart, focused.selectionEnd] as const) : null;
  const again = focused && finder(element, focused);
  replace(element, ...children);
  for (const made of keyed(element)) carryOver(kept.get(made.dataset.key), made);
  if (!focused) return;
  const found = element.contains(focused) ? focused : again?.();
  if (found) {
    found.focus({ preventScroll: true });
    if (selection && selection[0] !== null && isText(found)) found.setSelectionRange(...selection);
    return;
  }
  // What had the focus is gone: the keyboard goes on where it was.
  if (element.tabIndex < 0) element.tabIndex = -1;
  element.focus({ preventScroll: true });
}

/** Return a function that finds the element again once `root` is drawn anew: by its key, or by that of what contains
 * it and its place among its like there. */
function finder(root: HTMLElement, element: HTMLElement): () => HTMLElement | null | undefined {
  const around = element.closest<HTMLElement>("[data-key]");
  if (!around || around === root || !root.contains(around)) return () => null;
  const place = [...around.querySelectorAll(element.tagName)].indexOf(element);
  return () => {
    const made = root.querySelector<HTMLElement>(`[data-key="${CSS.escape(around.dataset.key ?? "")}"]`);
    return place < 0 ? made : made?.querySelectorAll<HTMLElement>(element.tagName)[place];
  };
}

function keyed(element: HTMLElement): HTMLElement[] {
  return [...element.querySelectorAll<HTMLElement>("[data-key]")];
}

function isText(element: HTMLElement): element is HTMLInputElement | HTMLTextAreaElement {
  return element instanceof HTMLInputElement || element instanceof HTMLTextAreaElement;
}

function carryOver(old: HTMLElement | undefined, made: HTMLElement): void {
  if (!old || old === made || old.tagName !== made.tagName) return;
  if (made instanceof HTMLDetailsElement) made.open = (old as HTMLDetailsElement).open;
  else if (made instanceof HTMLInputElement && (made.type === "checkbox" || made.type === "radio")) made.checked = (old as HTMLInputElement).checked;
  else if (made instanceof HTMLSelectElement) made.value = (old as HTMLSelectElement).value;
  else if (isText(made) && made.type !== "file") {
    const { value, defaultValue } = old as HTMLInputElement | HTMLTextAreaElement;
    if (value !== defaultValue) made.value = value;
  }
}
