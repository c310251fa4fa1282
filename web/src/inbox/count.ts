// How much needs a person: in the rail, in the title of the tab and in its picture. It follows the stream of all sessions.

import type { Frame } from "../../../clients/typescript/src/stream.js";
import { request } from "../api.ts";
import { rail } from "../frame/rail.svelte.ts";
import { later } from "../later.ts";
import type { Sessions } from "../shell/sessions.svelte.ts";

const CHANGES = /^(permission|interaction|todo|budget)\.|^session\.(state|updated)$|^run\.ended$/;
/** What a person can be told of who looks elsewhere. */
const NEWS = /^(permission|interaction|budget)\.|^run\.ended$/;
/** All but finished runs: these need nobody. */
export const NEEDED = ["question", "todo_proposal", "compaction", "budget", "budget_warning", "failed_run"];
const MOST = 99;

let name = "kaged";
/** Reads what waits: only how much, while nobody looks at the list. */
let read: () => Promise<unknown> = readCount;

async function readCount(): Promise<void> {
  showCount((await request<{ total: number }>("GET", `${ofKinds(NEEDED)}&limit=1`)).total);
}

/** Return the address of what waits of these kinds. */
export function ofKinds(kinds: string[]): string {
  return `/inbox?${kinds.map((kind) => `kind=${kind}`).join("&")}`;
}

export const countAgain: () => void = later(() => read().catch(() => undefined));

/** Read by this instead, null for the count alone. */
export function readBy(reader: (() => Promise<unknown>) | null): void {
  read = reader ?? readCount;
}

export function follow(frame: Frame, list: Sessions): void {
  if (CHANGES.test(frame.type)) countAgain();
  if (document.hidden && NEWS.test(frame.type)) import("./notifications.ts").then(({ tell }) => tell(frame, list)).catch(() => undefined);
}

export function showTitle(text: string): void {
  name = text;
  show();
}

export function showCount(waiting: number): void {
  rail.inbox = waiting;
  show();
}

/** Return a number for a small place. */
export function short(waiting: number): string {
  return waiting > MOST ? `${MOST}+` : `${waiting}`;
}

function show(): void {
  const count = rail.inbox;
  document.title = `${count ? `(${short(count)}) ` : ""}${name === "kaged" ? name : `${name} · kaged`}`;
  const icon = document.querySelector<HTMLLinkElement>("link[rel=icon]");
  const href = icon?.href.replace(/icon\w*\.svg$/, count ? "icon_waiting.svg" : "icon.svg") ?? "";
  // A browser fetches a picture again that is set again.
  if (icon && icon.href !== href) icon.href = href;
}
