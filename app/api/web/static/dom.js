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
