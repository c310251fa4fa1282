// The words of marks that say little by themselves, shown while a pointer or the focus is there. They stand in the element
// that `aria-describedby` names: a screen reader says the same.

import { h } from "../dom.ts";
import "./tips.css";

const EDGE = 8;

/** Show the words of each element with `data-tip`: below it or above it, `data-tip="beside"` beside it where there is room.
 * `data-lead` stands above them. Escape takes them away, as the names of the rail. */
export function followTips(first: Element): void {
  const tip: HTMLElement = h("div", { class: "tip", popover: "manual", "aria-hidden": "true" });
  document.body.append(tip);
  let host: HTMLElement | null = null;
  const watched = new MutationObserver(() => host && draw(host));

  function draw(at: HTMLElement): void {
    const words = document.getElementById(at.getAttribute("aria-describedby") ?? "")?.textContent ?? "";
    tip.textContent = [at.dataset["lead"], words].filter(Boolean).join("\n");
    if (!words) tip.hidePopover();
    else {
      tip.showPopover();
      if (!place(tip, at)) tip.hidePopover();
    }
  }

  function show(next: HTMLElement | null): void {
    if (next === host) return;
    host = next;
    watched.disconnect();
    if (!next) return tip.hidePopover();
    const words = document.getElementById(next.getAttribute("aria-describedby") ?? "");
    if (words) watched.observe(words, { childList: true, characterData: true, subtree: true });
    draw(next);
  }

  const hostOf = (target: EventTarget | null) => (target instanceof Element ? target.closest<HTMLElement>("[data-tip]") : null);
  addEventListener("pointerover", ({ target, pointerType }) => pointerType !== "touch" && target !== tip && show(hostOf(target)));
  document.documentElement.addEventListener("pointerleave", () => show(null));
  addEventListener("focusin", ({ target }) => target instanceof Element && target.matches(":focus-visible") && show(hostOf(target)));
  addEventListener("focusout", () => show(null));
  // What opens below the pointer is not to be covered.
  addEventListener("click", () => show(null), true);
  addEventListener("keydown", ({ key }) => key === "Escape" && show(null), true);
  if (first.matches(":hover, :focus-visible")) show(hostOf(first));
}

/** Put the words to their mark; tell whether there is room. */
function place(tip: HTMLElement, host: HTMLElement): boolean {
  const at = host.getBoundingClientRect();
  const { width, height } = tip.getBoundingClientRect();
  const isBeside = host.dataset["tip"] === "beside";
  const left = isBeside ? at.right : Math.max(EDGE, Math.min(at.left, innerWidth - width - EDGE));
  const top = isBeside ? at.top + at.height / 2 - height / 2 : at.bottom + height <= innerHeight ? at.bottom : at.top - height;
  tip.style.left = `${left}px`;
  tip.style.top = `${Math.max(0, top)}px`;
  return left + width <= innerWidth;
}
