// The two panels beside the middle: whether they are open, and what the browser remembers of that.

import { findById } from "../dom.ts";
import { keep, kept } from "./kept.ts";

export type Panel = "sidebar" | "details";

/** When a panel lies over the middle. */
const OVER = { sidebar: matchMedia("(max-width: 759.98px)"), details: matchMedia("(max-width: 1099.98px)") };
const WIDE = matchMedia("(min-width: 1200px)");
const KEPT = { sidebar: "list", details: "workspace" };
const PANELS = Object.keys(OVER) as Panel[];

/** Whether a panel was open when this browser showed it last beside the middle. */
export function wasOpen(name: Panel): boolean {
  if (OVER[name].matches) return false;
  const found = kept(KEPT[name]);
  return found === null ? name === "sidebar" || WIDE.matches : found === "open";
}

export class Panels {
  #onWorkspace: (open: boolean) => void;

  constructor(onWorkspace: (open: boolean) => void) {
    this.#onWorkspace = onWorkspace;
    for (const name of PANELS) {
      findById(`open-${name}`)?.addEventListener("click", () => this.toggle(name));
      // Its button may be made later.
      findById(name)?.addEventListener("click", (event) => (event.target as Element).closest(`#close-${name}`) && this.choose(name, false));
      OVER[name].addEventListener("change", () => this.show(name, wasOpen(name)));
    }
    findById("shade")?.addEventListener("click", () => this.closeOver());
    document.addEventListener("click", (event) => this.#onSessions(event));
    addEventListener("keydown", (event) => {
      if (event.key === "Escape" && !event.defaultPrevented && !findById("shade")?.hidden && !document.querySelector("dialog[open], :popover-open")) this.closeOver();
    });
    this.show("sidebar", wasOpen("sidebar"));
  }

  /** Where the list lies over the middle, "Sessions" of the open view shows it. */
  #onSessions(event: MouseEvent): void {
    const link = (event.target as Element).closest?.("#views a[data-view=sessions][aria-current]");
    if (!link || !OVER.sidebar.matches || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    this.toggle("sidebar");
  }

  isOpen(name: Panel): boolean {
    return findById(`open-${name}`)?.getAttribute("aria-expanded") === "true";
  }

  /** Show or hide a panel; where the page is too narrow for it, it lies over the middle. */
  show(name: Panel, open: boolean): void {
    const button = findById(`open-${name}`);
    const was = this.isOpen(name);
    const panel = findById(name);
    const leaves = was && !open && (document.activeElement === document.body || panel?.contains(document.activeElement));
    button?.setAttribute("aria-expanded", String(open));
    findById("page")?.classList.toggle(`with-${name}`, open);
    if (name === "details") this.#onWorkspace(open);
    const shade = findById("shade");
    if (shade) shade.hidden = !PANELS.some((one) => OVER[one].matches && this.isOpen(one));
    if (open && OVER[name].matches) findById(`close-${name}`)?.focus();
    else if (leaves) button?.focus({ preventScroll: true });
  }

  /** A person opens or closes a panel: the browser remembers that. */
  choose(name: Panel, open: boolean): void {
    this.show(name, open);
    if (!OVER[name].matches) keep(KEPT[name], open ? "open" : "closed");
  }

  toggle(name: Panel): void {
    this.choose(name, !this.isOpen(name));
  }

  /** Close a panel that lies over the middle. */
  closeOver(names: Panel[] = PANELS): void {
    for (const name of names) if (OVER[name].matches) this.show(name, false);
  }
}
