// Keeps the newest line in view while it grows, unless the reader has scrolled away from it.

const NEAR = 60;

/** Return `{toEnd}`; `button` is shown while the end is out of view. */
export function followScroll(scroller, button) {
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
  scroller.addEventListener("scroll", () => {
    const rest = scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight;
    // Only scrolling back leaves the end: a page that grew or a view that shrank meanwhile does not.
    if (rest < NEAR) following = true;
    else if (scroller.scrollTop < before) following = false;
    before = scroller.scrollTop;
    button.hidden = following;
  }, { passive: true });
  button.addEventListener("click", toEnd);
  const sizes = new ResizeObserver(grown);
  sizes.observe(scroller);
  for (const child of scroller.children) sizes.observe(child);
  return { toEnd };
}
