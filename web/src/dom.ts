// Building elements. Text is always set as text: nothing on this page parses HTML.

type Elements = HTMLElementTagNameMap;

/** What an element contains: null, undefined and false are left out, lists are laid out flat. */
export type Child = Node | string | number | false | null | undefined | readonly Child[];

/** What `h` sets on a new element. */
export type Properties<Tag extends keyof Elements = "div"> = {
  readonly [Name in Exclude<keyof Elements[Tag], "role" | "className" | "dataset"> & string]?: Elements[Tag][Name] | null | undefined;
} & {
  readonly class?: string | null | undefined;
  readonly data?: Readonly<Record<string, string | undefined>> | undefined;
  readonly role?: string | null | undefined;
  readonly [attribute: `${string}-${string}`]: string | number | boolean | null | undefined;
};

/** Return a new element. `properties` are set on it (`class`, `data`, `aria-*`, `on*`, anything else as a
 * property); children are elements or texts, null is left out. */
export function h<Tag extends keyof Elements>(tag: Tag, properties: Properties<Tag> = {}, ...children: Child[]): Elements[Tag] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries<unknown>(properties)) {
    if (value === undefined || value === null) continue;
    if (name === "class") element.className = String(value);
    else if (name === "data") Object.assign(element.dataset, value);
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value as EventListener);
    else if (name.includes("-") || name === "role") element.setAttribute(name, String(value));
    else Object.assign(element, { [name]: value });
  }
  append(element, children);
  return element;
}

export function append(element: ParentNode, children: readonly Child[]): void {
  for (const child of children) {
    if (Array.isArray(child)) append(element, child);
    else if (child !== null && child !== undefined && child !== false) element.append(child as Node | string);
  }
}

export function replace(element: ParentNode, ...children: Child[]): void {
  element.replaceChildren();
  append(element, children);
}

/** Return an element that is always on the page. */
export function byId(id: string): HTMLElement {
  const element = findById(id);
  if (!element) throw new Error(`The page has no element ${id}.`);
  return element;
}

/** Return an element that may be missing. */
export function findById(id: string): HTMLElement | null {
  return document.getElementById(id);
}

/** Return a function that runs `work` once per frame, however often it is called; its `now` runs what is due at once. */
export function oncePerFrame(work: () => void): (() => void) & { now(): void } {
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
  return Object.assign(later, { now: run });
}
