// The frames of the answers that are being written, kept for what shows them later: the thread of a subagent that is
// opened, or a session that is read again. None of them is stored before its answer has ended.

import type { Frame } from "./types.ts";

export class InFlight {
  /** By message, from its `message.start` or `message.snapshot` on. */
  readonly #frames = new Map<string, Frame[]>();

  take(frame: Frame): void {
    const id = frame.payload.messageId;
    if (frame.type === "message.start" || frame.type === "message.snapshot") this.#frames.set(id, [frame]);
    else if (frame.type === "message.end") this.#frames.delete(id);
    else if (frame.type === "message.delta" || frame.type === "message.tool_call") this.#frames.get(id)?.push(frame);
  }

  /** Return the frames of a run, or of all runs. */
  of(runId?: string): Frame[] {
    const frames = [...this.#frames.values()].flat();
    return runId === undefined ? frames : frames.filter((frame) => frame.run_id === runId);
  }
}
