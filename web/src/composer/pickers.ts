// What can be chosen for a session, read when somebody chooses, and the words on the buttons.

import { allItems } from "../api.ts";
import { modes as readModes } from "../session_mode.ts";
import type { Detail, Mode, Model } from "./types.ts";
import { modelName } from "./words.ts";

export const labels = {
  mode(detail: Detail | null): string {
    return (detail?.mode ?? "").replace(/^./, (first) => first.toUpperCase());
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
