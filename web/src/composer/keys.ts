// Which key sends.

/** A keyboard on the screen has no Shift+Enter: there Enter breaks the line, and the button sends. */
const ON_SCREEN = matchMedia("(hover: none) and (pointer: coarse)");
/** The key code of a key that an input method takes. Safari ends a composition before it tells the key. */
const TAKEN_BY_INPUT_METHOD = 229;

/** Whether an input method has this key: it accepts a word, and neither sends nor chooses. */
export function takenByInputMethod(event: KeyboardEvent): boolean {
  return event.isComposing || event.keyCode === TAKEN_BY_INPUT_METHOD;
}

/** Whether this key sends what is written. */
export function sends(event: KeyboardEvent): boolean {
  if (event.key !== "Enter" || takenByInputMethod(event)) return false;
  if (event.ctrlKey || event.metaKey) return true;
  return !event.shiftKey && !event.altKey && !ON_SCREEN.matches;
}
