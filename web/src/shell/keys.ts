// What the keys of the shell do. A key that is typed into a field stays there.

import { closePart, openPalette, openPart, openShortcuts } from "./opening.ts";
import type { Sessions } from "./sessions.svelte.ts";
import { isField, isSingleKey } from "./single_keys.ts";

const SEQUENCE_MS = 1500;

export interface Actions {
  list: Sessions;
  togglePanel: (name: "sidebar" | "details") => void;
}

export function followKeys({ list, togglePanel }: Actions): void {
  let begun = -Infinity;

  const goTo = (view: string): boolean => {
    const link = document.querySelector<HTMLAnchorElement>(`#views [data-view=${view}]`);
    if (link) location.hash = link.hash;
    return link !== null;
  };
  const newSession = (): boolean => {
    const session = list.route.session ? list.find(list.route.session) : undefined;
    const project = list.route.project ?? session?.project_id ?? list.choice.project ?? list.projects[0]?.id;
    if (project) void list.create(project);
    return project !== undefined;
  };
  const single: Record<string, () => boolean | void> = {
    "?": () => void openShortcuts(),
    n: newSession,
    "[": () => togglePanel("sidebar"),
    "]": () => togglePanel("details"),
  };
  const afterG: Record<string, string> = { i: "inbox", s: "sessions", b: "issues", w: "workflows" };

  /** Return whether the key did something. */
  const control = (event: KeyboardEvent): boolean => {
    if (event.key.toLowerCase() === "k") {
      // The second press is the browser's own.
      if (openPart() === "palette") closePart();
      else if (!document.querySelector("dialog[open]") || openPart()) {
        void openPalette(list);
        return true;
      }
      return false;
    }
    const target = event.target as Element;
    const name = { Enter: "send", ".": "stop" }[event.key];
    if (!name || target.closest(`dialog, .questions, #view`) || (name === "send" && isField(target))) return false;
    const button = document.getElementById(name);
    if (!(button instanceof HTMLButtonElement) || button.disabled || !button.checkVisibility()) return false;
    button.click();
    return true;
  };

  const plain = (event: KeyboardEvent): boolean => {
    if (!isSingleKey(event)) return false;
    const second = event.timeStamp - begun < SEQUENCE_MS ? afterG[event.key] : undefined;
    begun = -Infinity;
    if (second) return goTo(second);
    if (event.key === "g") {
      begun = event.timeStamp;
      return true;
    }
    const work = single[event.key];
    return work !== undefined && work() !== false;
  };

  addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.isComposing || event.repeat || event.altKey || !(event.target instanceof Element)) return;
    const done = event.ctrlKey || event.metaKey ? !event.shiftKey && control(event) : plain(event);
    if (done) event.preventDefault();
  });
}
