// The menus of the list, made when they are asked for. One is open at a time.

import { mount, unmount, type Component } from "svelte";
import type { Trouble } from "../notices.ts";
import type { Session } from "./choice.ts";
import SessionMenu from "./SessionMenu.svelte";
import type { Sessions } from "./sessions.svelte.ts";
import StateMenu from "./StateMenu.svelte";

export interface MenuHooks {
  list: Sessions;
  onError: (error: Trouble) => void;
}

let close: (() => void) | null = null;

export function openSessionMenu(session: Session, button: HTMLElement, hooks: MenuHooks): void {
  openMenu(SessionMenu, { session, button, ...hooks });
}

export function openStateMenu(list: Sessions, button: HTMLElement): void {
  openMenu(StateMenu, { list, button });
}

function openMenu<P extends { onClosed: () => void }>(Menu: Component<P>, props: Omit<P, "onClosed">): void {
  close?.();
  const made: Record<string, unknown> = mount(Menu as Component<Record<string, unknown>>, { target: document.body, props: { ...props, onClosed: () => own() } });
  const own = () => {
    if (close !== own) return;
    close = null;
    void unmount(made);
  };
  close = own;
}
