// Keeps the newest line in view while it grows, unless the reader has scrolled away from it; and keeps the reader's
// place when something is put above it.

const NEAR = 60;

export interface Follower {
  toEnd(): void;
  /** Do `work`, which puts something above what is in view; what is in view stays where it is. */
  keepPlace(work: () => Promise<void>): Promise<void>;
  /** Bring an element into view, and stop following the end. */
  show(element: Element): void;
}

/** `button` is shown while the end is out of view. */
export function followScroll(scroller: HTMLElement, button: HTMLElement): Follower {
  let following = true;
  let before = 0;

  const toEnd = () => {
    following = true;
    button.hidden = true;
    scroller.scrollTop = scroller.scrollHeight;
  };
  const grown = () => {
    if (following) scroller.scrollTop = scroller.scrollHeight;
    else button.hidden = false;
  };
  const keepPlace = async (work: () => Promise<void>) => {
    if (following) {
      await work();
      return;
    }
    const anchor = inView(scroller);
    const was = anchor?.getBoundingClientRect().top ?? 0;
    scroller.style.overflowAnchor = "none";
    await work();
    if (anchor?.isConnected) scroller.scrollTop += anchor.getBoundingClientRect().top - was;
    requestAnimationFrame(() => (scroller.style.overflowAnchor = ""));
  };
  const show = (element: Element) => {
    following = false;
    element.scrollIntoView({ block: "center" });
    before = scroller.scrollTop;
    button.hidden = atEnd(scroller);
  };
  scroller.addEventListener("scroll", () => {
    // Only scrolling back leaves the end: a page that grew or a view that shrank meanwhile does not.
    if (atEnd(scroller)) following = true;
    else if (scroller.scrollTop < before) following = false;
    before = scroller.scrollTop;
    button.hidden = following;
  }, { passive: true });
  button.addEventListener("click", toEnd);
  const sizes = new ResizeObserver(grown);
  sizes.observe(scroller);
  for (const child of scroller.children) sizes.observe(child);
  return { toEnd, keepPlace, show };
}

function atEnd(scroller: HTMLElement): boolean {
  return scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < NEAR;
}

/** Return the first element of the thread that is in view. */
function inView(scroller: HTMLElement): Element | undefined {
  const top = scroller.getBoundingClientRect().top;
  return [...scroller.querySelectorAll("[data-id]")].find((element) => element.getBoundingClientRect().bottom > top);
}
