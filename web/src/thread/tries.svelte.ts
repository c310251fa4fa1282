// Answers of a model that failed and were tried again.

import { duration } from "../format.ts";
import type { Thread } from "./thread.svelte.ts";
import type { Frame } from "./types.ts";

/** What says that the model is asked again or answers, or that nothing is tried any more. */
const OVER = new Set(["message.start", "message.delta", "message.snapshot", "message.tool_call", "message.end", "run.ended"]);

/** One try of a model's answer that failed; `next` is empty when it was the last one. */
interface Try {
  reason: string;
  next: string;
}

/** Tries of one answer that failed, one after the other. */
export class Tries {
  readonly kind = "tries";
  readonly id: string;
  list = $state<Try[]>([]);
  /** The next try has begun, or there is none. */
  over = $state(false);

  constructor(id: string) {
    this.id = id;
  }

  get text(): string {
    const last = this.list.at(-1);
    const count = this.list.length;
    return `Tried ${count === 1 ? "once" : `${count} times`}: ${last?.reason}${last?.next && !this.over ? `; ${last.next}` : ""}`;
  }

  add(one: Try): void {
    this.list.push(one);
    this.over = false;
  }
}

/** Count the tries that follow each other in one line. Returns whether the frame tells of one. */
export function tried({ type, seq, ts, payload }: Frame, thread: Thread): boolean {
  const known = thread.last?.kind === "tries" ? thread.last : null;
  if (known && OVER.has(type)) known.over = true;
  if (type !== "model.retry") return false;
  const one = tryOf(payload);
  // A single one is told by the end of its run.
  if (!known && !one.next) return true;
  const tries = known ?? new Tries(`${type}-${seq ?? ts}`);
  tries.add(one);
  if (!known) thread.append(tries);
  return true;
}

function tryOf({ message, fallback_to: model, delay_ms: delay }: any): Try {
  const again = delay === null ? "" : `trying again in ${duration(delay)}`;
  return { reason: message.trim().replace(/\.$/, ""), next: model ? `trying ${model}` : again };
}
