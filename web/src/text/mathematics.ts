// Formulas as MathML, which the browser draws. Loaded when a text has the first one.

import temml from "temml";

/** Draw a formula in TeX into `place`; a wrong one is shown as it is written. */
export function formula(place: HTMLElement, tex: string, display: boolean): void {
  try {
    temml.render(tex, place, { displayMode: display, throwOnError: true, trust: false, maxExpand: 1000, maxSize: [50, 50] });
  } catch {
    place.textContent = tex;
  }
}
