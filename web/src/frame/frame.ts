// The frame around the views: the rail, and the panels whose widths a person sets.

import { mount } from "svelte";
import ThemeSwitch from "../look/ThemeSwitch.svelte";
import Divider from "./Divider.svelte";
import Rail from "./Rail.svelte";

const WORKSPACE = "kaged.workspace";

/** The list of sessions lies over the page. */
export const LIST_OVER = matchMedia("(max-width: 759.98px)");
/** The workspace lies over the page. */
export const WORKSPACE_OVER = matchMedia("(max-width: 1099.98px)");
const WIDE = matchMedia("(min-width: 1200px)");

export function buildFrame(page: HTMLElement, list: HTMLElement, workspace: HTMLElement, appearance: HTMLElement): void {
  mount(Rail, { target: page, anchor: list });
  mount(Divider, { target: list, props: { name: "list", label: "Width of the list", edge: "end", least: 200, most: 480, usual: 280 } });
  mount(Divider, { target: workspace, props: { name: "workspace", label: "Width of the workspace", edge: "start", least: 320, most: 960, usual: 360 } });
  mount(ThemeSwitch, { target: appearance });
}

/** Whether the workspace was open when this browser showed it last; a wide page that never did opens it. */
export function workspaceWasOpen(): boolean {
  if (WORKSPACE_OVER.matches) return false;
  try {
    const kept = localStorage.getItem(WORKSPACE);
    return kept === null ? WIDE.matches : kept === "open";
  } catch {
    return WIDE.matches;
  }
}

export function keepWorkspace(open: boolean): void {
  if (WORKSPACE_OVER.matches) return;
  try {
    localStorage.setItem(WORKSPACE, open ? "open" : "closed");
  } catch {
    // The browser keeps nothing.
  }
}
