// Keeps the newest line in view while it grows, unless the reader has scrolled away from it.

const NEAR = 60;

/** Return `{toEnd}`; `button` is shown while the end is out of view. */
export function followScroll(scroller, button) {
  let following = true;

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
    following = rest < NEAR;
    button.hidden = following;
  }, { passive: true });
  button.addEventListener("click", toEnd);
  const sizes = new ResizeObserver(grown);
  sizes.observe(scroller);
  for (const child of scroller.children) sizes.observe(child);
  return { toEnd };
}
