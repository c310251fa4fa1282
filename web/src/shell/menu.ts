// What menus have in common: where they open, and their keys.

const EDGE = 8;
const GAP = 4;

/** Open a menu at its button, with the focus on the item that is chosen, else on the first. */
export function showAt(menu: HTMLElement, button: HTMLElement): void {
  menu.showPopover();
  const at = button.getBoundingClientRect();
  const { width, height } = menu.getBoundingClientRect();
  const fits = at.bottom + GAP + height <= innerHeight - EDGE;
  menu.style.left = `${Math.max(EDGE, Math.min(at.left, innerWidth - width - EDGE))}px`;
  menu.style.top = `${Math.max(EDGE, fits ? at.bottom + GAP : at.top - height - GAP)}px`;
  const all = items(menu);
  (all.find((one) => one.getAttribute("aria-checked") === "true") ?? all[0])?.focus();
}

/** Move the focus among the items of a menu. */
export function moveIn(event: KeyboardEvent & { currentTarget: HTMLElement }, leave: () => void): void {
  const all = items(event.currentTarget);
  const at = all.indexOf(document.activeElement as HTMLElement);
  const next: Record<string, number> = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 };
  if (event.key === "Tab") leave();
  const to = next[event.key];
  if (to === undefined) return;
  event.preventDefault();
  all[(to + all.length) % all.length]?.focus();
}

function items(menu: HTMLElement): HTMLElement[] {
  return [...menu.querySelectorAll<HTMLElement>("[role^=menuitem]:not([aria-disabled=true])")];
}
