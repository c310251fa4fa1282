// Puts the frame around the views: rail, list, dividers, news.

import { mount } from "svelte";
import { byId } from "../dom.ts";
import Divider from "../frame/Divider.svelte";
import Rail from "../frame/Rail.svelte";
import { followTheme } from "../look/theme.ts";
import type { Trouble } from "../notices.ts";
import ConnectionBanner from "./ConnectionBanner.svelte";
import { install } from "./install.ts";
import { followKeys } from "./keys.ts";
import type { Panels } from "./panels.ts";
import ProjectSwitcher from "./ProjectSwitcher.svelte";
import SessionList from "./SessionList.svelte";
import type { Sessions } from "./sessions.svelte.ts";

/** A wide window has room for more than the conversation: most of it is for differences and attempts. */
function workspaceWidth(page: number): number {
  return Math.max(360, page * 0.42 - 245);
}

/** What shows the words of marks is fetched with the first mark that a person comes to. */
function beginTips({ target }: Event): void {
  if (!(target instanceof Element) || !target.closest("[data-tip]")) return;
  for (const type of ["pointerover", "focusin"]) removeEventListener(type, beginTips);
  void import("../frame/tips.ts").then(({ followTips }) => followTips(target), () => null);
}

export function buildShell(list: Sessions, panels: Panels, onError: (error: Trouble) => void): void {
  for (const type of ["pointerover", "focusin"]) addEventListener(type, beginTips);
  mount(Rail, { target: byId("page"), anchor: byId("sidebar") });
  mount(ProjectSwitcher, { target: byId("switcher"), props: { list } });
  mount(SessionList, { target: byId("session-list"), props: { list, onError } });
  mount(Divider, { target: byId("sidebar"), props: { name: "list", label: "Width of the list", edge: "end", least: 200, most: 480, usual: () => 280 } });
  mount(Divider, { target: byId("details"), props: { name: "workspace", label: "Width of the workspace", edge: "start", least: 320, most: 960, usual: workspaceWidth } });
  mount(ConnectionBanner, { target: byId("connection-banner"), props: { list } });
  followTheme();
  followKeys({ list, togglePanel: (name) => panels.toggle(name) });
  install();
}
