// What to do first, shown where no session is open.

import { mount, unmount } from "svelte";
import { replace } from "../dom.ts";
import FirstSteps from "./FirstSteps.svelte";

interface Sidebar {
  projects: { id: string; slug: string; trust: { state: string } }[];
}

let shown: ReturnType<typeof mount> | null = null;

/** Show the next step in `target`: the provider, the project, or what to say first. */
export function showFirstSteps(target: HTMLElement, sidebar: Sidebar, messages: string[], onBegin: (projectId: string, text: string) => void): void {
  if (shown) void unmount(shown);
  replace(target);
  shown = mount(FirstSteps, { target, props: { projects: sidebar.projects, messages, onBegin } });
}
