// What the page gives its views, and what it wants of them.

import type { Frame } from "../../clients/typescript/src/stream.js";
import type { Sessions } from "./shell/sessions.svelte.ts";

export interface Page {
  readonly title: (text: string) => void;
  readonly failed: (error: unknown) => void;
  readonly sidebar: Sessions;
  /** Where a view outside the sessions draws. */
  readonly root: HTMLElement;
}

/** A view outside the sessions. */
export interface View {
  open(): Promise<void>;
  frame(frame: Frame): void;
  /** The connection was away. */
  again(): unknown;
  close(): void;
}
