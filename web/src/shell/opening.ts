// The parts of the shell that are fetched when they are asked for. One of them is open at a time.

import { mount, unmount, type Component } from "svelte";
import { lazily } from "../lazy.ts";
import { tell, type Trouble } from "../notices.ts";
import type { Sessions } from "./sessions.svelte.ts";

type Loaded = { default: Component<never> };

let open: { name: string; close: () => void } | null = null;

/** Which part is open, null for none. */
export function openPart(): string | null {
  return open?.name ?? null;
}

export function closePart(): void {
  open?.close();
}

async function openOver(name: string, load: () => Promise<unknown>, props: object): Promise<void> {
  if (open?.name === name) return;
  try {
    const { default: Part } = (await lazily(load)) as Loaded;
    closePart();
    const target = document.body;
    const made: Record<string, unknown> = mount(Part as unknown as Component<Record<string, unknown>>, { target, props: { ...props, onClosed: () => close() } });
    const own = { name, close };
    function close() {
      if (open !== own) return;
      open = null;
      void unmount(made);
    }
    open = own;
  } catch (error) {
    tell(error as Trouble);
  }
}

export function openProjects(list: Sessions): Promise<void> {
  return openOver("projects", () => import("./ProjectPicker.svelte"), { list });
}

export function openPalette(list: Sessions): Promise<void> {
  return openOver("palette", () => import("../palette/CommandPalette.svelte"), { list });
}

export function openShortcuts(): Promise<void> {
  return openOver("shortcuts", () => import("./ShortcutSheet.svelte"), {});
}
