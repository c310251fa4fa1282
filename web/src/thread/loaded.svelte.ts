// The views that a session needs once something was said in it.

import { lazily } from "../lazy.ts";

type Views = typeof import("./views.ts");

class Loaded {
  views = $state.raw<Views | null>(null);
}

export const loaded = new Loaded();
let loading: Promise<void> | null = null;

/** Load the views, once. Throws `ApiError`; a later call tries again. */
export function loadViews(): Promise<void> {
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
