// Building elements. Text is always set as text: nothing on this page parses HTML.

/** Return a new element. `properties` are set on it (`class`, `data`, `aria-*`, `on*`, anything else as a
 * property); children are elements or texts, null is left out. */
export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null) continue;
    if (name === "class") element.className = value;
    else if (name === "data") Object.assign(element.dataset, value);
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name.includes("-") || name === "role") element.setAttribute(name, value);
    else element[name] = value;
  }
  append(element, children);
  return element;
}

export function append(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined && child !== false) element.append(child);
  }
}

export function replace(element, ...children) {
  element.replaceChildren();
  append(element, children);
}

/** Put new children in place of the old ones, as `replace`. What has the same `data-key` before and after
 * keeps the focus, what was typed into it, and whether it is open. */
export function redraw(element, ...children) {
  const kept = new Map([...element.querySelectorAll("[data-key]")].map((old) => [old.dataset.key, old]));
  const focused = element.contains(document.activeElement) && document.activeElement !== element ? document.activeElement : null;
  const selection = focused && "selectionStart" in focused ? [focused.selectionStart, focused.selectionEnd] : null;
  replace(element, ...children);
  for (const made of element.querySelectorAll("[data-key]")) carryOver(kept.get(made.dataset.key), made);
  if (!focused) return;
  const again = element.contains(focused) ? focused : focused.dataset.key && element.querySelector(`[data-key="${CSS.escape(focused.dataset.key)}"]`);
  if (again) {
    again.focus({ preventScroll: true });
    if (selection && selection[0] !== null) again.setSelectionRange(...selection);
    return;
  }
  // What had the focus is gone: the keyboard goes on where it was.
  if (element.tabIndex < 0) element.tabIndex = -1;
  element.focus({ preventScroll: true });
}

function carryOver(old, made) {
  if (!old || old === made || old.tagName !== made.tagName) return;
  if (made.tagName === "DETAILS") made.open = old.open;
  else if (made.type === "checkbox" || made.type === "radio") made.checked = old.checked;
  else if (made.tagName === "SELECT") made.value = old.value;
  else if ((made.tagName === "TEXTAREA" || made.tagName === "INPUT") && made.type !== "file" && old.value !== old.defaultValue) made.value = old.value;
}

export function byId(id) {
  return document.getElementById(id);
}

/** Return a function that runs `work` once per frame, however often it is called. */
export function oncePerFrame(work) {
  let due = false;
  const run = () => {
    if (!due) return;
    due = false;
    work();
  };
  const later = () => {
    if (due) return;
    due = true;
    // A hidden page has no frames; its texts must grow all the same.
    if (document.hidden) setTimeout(run, 100);
    else requestAnimationFrame(run);
  };
  later.now = run;
  return later;
}
