// The theme of the page: the system's, unless a person chose one (public/static/theme.js sets it before anything is
// painted).

import { keep } from "../shell/kept.ts";

export const THEMES = { system: "As the system", light: "Light", dark: "Dark" } as const;
export type Theme = keyof typeof THEMES;

const KEPT = "kaged.theme";
const CHOSEN = "kaged:theme";

export function chosenTheme(): Theme {
  const { theme } = document.documentElement.dataset;
  return theme === "light" || theme === "dark" ? theme : "system";
}

export function chooseTheme(theme: Theme): void {
  show(theme);
  keep("theme", theme === "system" ? null : theme);
}

/** Follow what another tab of this browser chooses. */
export function followTheme(): void {
  addEventListener("storage", ({ key, newValue: value }) => {
    if (key === KEPT) show(value === "light" || value === "dark" ? value : "system");
  });
}

/** Call `onTheme` when a theme is chosen. Returns what ends that. */
export function onTheme(work: (theme: Theme) => void): () => void {
  const changed = () => work(chosenTheme());
  addEventListener(CHOSEN, changed);
  return () => removeEventListener(CHOSEN, changed);
}

function show(theme: Theme): void {
  if (theme === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = theme;
  dispatchEvent(new Event(CHOSEN));
}
