// Notifications of the browser: who asks what, and how a run ended, for somebody who looks elsewhere. They name the project,
// the agent and the kind of question: never a command, and no content of a file.

import type { Frame } from "../../../clients/typescript/src/stream.js";
import { request } from "../api.ts";
import { to } from "../routes.ts";
import { keep, kept } from "../shell/kept.ts";
import type { Sessions } from "../shell/sessions.svelte.ts";
import type { Session } from "../shell/choice.ts";

const NAME = "notifications";
const ASKS: Record<string, string> = { permission: "asks for permission", ask: "asks a question", question: "asks a question", form: "asks for data", plan: "proposes a plan" };
const LIMITS: Record<string, string> = { tokens: "tokens", usd: "cost", seconds: "time", steps: "steps" };

interface News {
  tag: string;
  heading: string;
  text: string;
}

const shown = new Map<string, Notification>();

export function possible(): boolean {
  return "Notification" in globalThis && Notification.permission !== "denied";
}

export function isOn(): boolean {
  return possible() && Notification.permission === "granted" && kept(NAME) === "on";
}

/** Whether nobody was asked yet in this browser. */
export function canOffer(): boolean {
  return possible() && kept(NAME) === null;
}

/** Turn notifications on: the browser asks, once. Returns whether it allows them. */
export async function turnOn(): Promise<boolean> {
  const allowed = (await Notification.requestPermission()) === "granted";
  keep(NAME, allowed ? "on" : "off");
  return allowed;
}

export function turnOff(): void {
  keep(NAME, "off");
}

/** Tell of a frame while the page is not looked at. */
export async function tell(frame: Frame, list: Sessions): Promise<void> {
  const { interaction_id: asked } = frame.payload as { interaction_id?: string };
  if (frame.type.endsWith(".answered")) {
    if (asked) shown.get(asked)?.close();
    return;
  }
  const news = newsOf(frame);
  if (!news) return;
  if (canOffer()) return offerSoon();
  if (!isOn()) return;
  const id = frame.session_id;
  const session: Session = list.find(id) ?? (await request("GET", `/sessions/${encodeURIComponent(id)}`));
  if (frame.type === "run.ended" && news.heading === "finished" && (session.headless || session.kind !== "chat")) return;
  show(id, { ...news, heading: `${list.projectName(session.project_id)}: ${news.heading}` });
}

function newsOf({ type, payload, agent_path: path }: Frame): News | null {
  const who = path ?? "primary";
  const facts = payload as Record<string, string | boolean | null | undefined>;
  if (type === "permission.requested" || type === "interaction.requested") {
    const kind = type === "permission.requested" ? "permission" : String(facts["kind"]);
    return { tag: String(facts["interaction_id"]), heading: "waits for you", text: `${who} ${ASKS[kind] ?? "asks something"}.` };
  }
  if (type === "budget.warning" && !facts["unpriced_model"]) {
    return { tag: `budget ${facts["unit"]}`, heading: "budget", text: `The limit of ${LIMITS[String(facts["unit"])] ?? "the run"} is ${facts["reached"] ? "reached" : "nearly reached"} for ${who}.` };
  }
  if (type !== "run.ended" || who !== "primary") return null;
  if (facts["state"] === "failed") return { tag: String(facts["run_id"]), heading: "failed", text: `A run of ${who} failed.` };
  return facts["state"] === "succeeded" ? { tag: String(facts["run_id"]), heading: "finished", text: `${who} has finished.` } : null;
}

function show(session: string, { tag, heading, text }: News): void {
  let notification: Notification;
  try {
    // The same news of several tabs is one notification.
    notification = new Notification(heading, { body: text, tag, icon: new URL("icon-192.png", iconFolder()).href });
  } catch {
    // Browsers of phones have no notifications without a worker: the count in the title stays.
    return;
  }
  shown.set(tag, notification);
  notification.onclose = () => shown.delete(tag);
  notification.onclick = () => {
    focus();
    location.hash = to.session(session);
    notification.close();
  };
}

function iconFolder(): string {
  return document.querySelector<HTMLLinkElement>("link[rel=icon]")?.href ?? location.href;
}

let waits = false;

/** Offer notifications when the person is back: now it is clear what they are for. */
function offerSoon(): void {
  if (waits) return;
  waits = true;
  document.addEventListener(
    "visibilitychange",
    async () => {
      waits = false;
      if (canOffer()) (await import("./offer.ts")).offer();
    },
    { once: true },
  );
}
