// Whether keys without Ctrl do something in this browser.

import { keep, kept } from "./kept.ts";

const OFF = "off";
const FIELDS = "input:not([type=checkbox], [type=radio], [type=button]), textarea, select, [contenteditable], .xterm";
/** What has keys of its own. */
const OWN = "[role=menu], [role=listbox], [role=tree], dialog";

export function singleKeys(): boolean {
  return kept("keys") !== OFF;
}

export function switchSingleKeys(on: boolean): void {
  keep("keys", on ? null : OFF);
}

/** Whether something takes what is typed at this place. */
export function isField(place: Element): boolean {
  return place.closest(FIELDS) !== null;
}

/** Whether a key may do something by itself: it is not typed into a field, nor meant for a menu or a dialog. */
export function isSingleKey(event: KeyboardEvent): boolean {
  const { target } = event;
  if (event.defaultPrevented || event.isComposing || event.repeat || event.altKey || event.ctrlKey || event.metaKey || !(target instanceof Element)) return false;
  return singleKeys() && !isField(target) && !target.closest(OWN) && !document.querySelector("dialog[open]");
}
