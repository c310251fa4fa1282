// Esc stops the run: at once, or when asked once more while a tool is at work.

import { request, type Schemas } from "../api.ts";
import type { ComposerState } from "./state.svelte.ts";

export class Stopping {
  readonly #composer: ComposerState;
  /** How many keys were pressed that do not stop, and whether it is being found out what would be stopped. */
  #keys = 0;
  #looking = false;

  constructor(composer: ComposerState) {
    this.#composer = composer;
  }

  /** Another key was pressed. */
  forget(): void {
    this.#keys += 1;
    this.#composer.stopping = null;
  }

  async ask(): Promise<void> {
    const composer = this.#composer;
    const { session, detail } = composer;
    if (!session || !detail?.active_run || this.#looking) return;
    if (composer.stopping === null) {
      const before = this.#keys;
      this.#looking = true;
      const tool = await atWork(detail.active_run);
      this.#looking = false;
      // Another key has been pressed meanwhile, or another session is open.
      if (before !== this.#keys || session !== composer.session) return;
      composer.stopping = tool;
      if (tool !== null) return;
    }
    await composer.act("cancel");
  }
}

/** What a run is doing that stopping it would break off, null when only its model is writing. */
async function atWork(run: string): Promise<string | null> {
  try {
    const { tool_calls: calls, children } = await request<Schemas["RunDetail"]>("GET", `/runs/${run}`);
    if (children.some(({ state }) => state === "running")) return "A subagent";
    return calls.find(({ ended_at: ended }) => ended === null)?.name ?? null;
  } catch {
    return "The agent";
  }
}
