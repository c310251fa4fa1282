// Tells when somebody has an element in view: on the screen, and in a tab that is shown.

export function inView(tell: () => void): (element: HTMLElement) => () => void {
  return (element) => {
    let near = false;
    const told = () => near && document.visibilityState === "visible" && tell();
    const watch = new IntersectionObserver((entries) => {
      near = entries.at(-1)?.isIntersecting ?? false;
      told();
    });
    watch.observe(element);
    document.addEventListener("visibilitychange", told);
    return () => {
      watch.disconnect();
      document.removeEventListener("visibilitychange", told);
    };
  };
}
