// The views that a session needs once something was said in it.

import { lazily } from "../lazy.ts";

type Views = typeof import("./views.ts");
type Markdown = typeof import("../text/markdown_view.ts");

class Loaded {
  views = $state.raw<Views | null>(null);
  markdown = $state.raw<Markdown | null>(null);
  /** Whether Markdown cannot be loaded: texts stand there as they are written. */
  broken = $state(false);
}

export const loaded = new Loaded();
let loading: Promise<void> | null = null;

let reading: Promise<void> | null = null;

/** Load what formats texts, once. A later call tries again. */
export function loadMarkdown(): void {
  reading ??= lazily(() => import("../text/markdown_view.ts")).then(
    (markdown: Markdown) => {
      loaded.markdown = markdown;
      loaded.broken = false;
    },
    () => {
      reading = null;
      loaded.broken = true;
    },
  );
}

/** Load the views, once, and beside them what formats their texts. Throws `ApiError`; a later call tries again. */
export function loadViews(): Promise<void> {
  if (!loaded.markdown) loadMarkdown();
  loading ??= lazily(() => import("./views.ts")).then(
    (views: Views) => {
      loaded.views = views;
    },
    (error: unknown) => {
      loading = null;
      throw error;
    },
  );
  return loading as Promise<void>;
}
