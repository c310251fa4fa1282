// What can be chosen for a session, read when somebody chooses, and the words on the buttons.

import { allItems } from "../api.ts";
import { modes as readModes } from "../session_mode.ts";
import type { Detail, Mode, Model } from "./types.ts";
import { modelName } from "./words.ts";

const MODES: Record<string, string> = {
  plan: "Plan mode: the agent reads and proposes a plan. It changes nothing.",
  ask: "Ask mode: the agent asks where a rule says so, and before what the watchdog doubts.",
  edits: "Accept edits: the agent changes files without asking, and asks before commands that no rule allows.",
  full: "Full mode: the agent asks only where the project file says that it must.",
};

export const labels = {
  mode(detail: Detail | null): string {
    return (detail?.mode ?? "").replace(/^./, (first) => first.toUpperCase());
  },
  /** What the mode of a session means: what agents do without asking. */
  modeWords(detail: Detail | null): string {
    return MODES[detail?.mode ?? ""] ?? "What the agent may do without asking";
  },
  model(detail: Detail | null): string {
    const chosen = detail?.overrides["model"] ?? detail?.context.find(({ agent_path: path }) => path === "primary")?.model;
    return typeof chosen === "string" ? modelName(chosen) : "Agent's model";
  },
};

export async function modes(): Promise<Mode[]> {
  return readModes();
}

/** Prices of a public provider are known after its first call: the list is read each time. */
export async function models(): Promise<Model[]> {
  return allItems("/models");
}
