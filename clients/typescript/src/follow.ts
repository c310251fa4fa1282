/** A stream of events as an async iterator. */

import { KagedError } from "./errors.js";
import { EVENT_TYPES, type KnownEvent } from "./generated/events.js";
import { Stream, type Frame } from "./stream.js";

/** An event of a type that this version of the package does not know. */
export interface UnknownEvent {
  type: "unknown";
  /** The daemon's name of the type. */
  name: string;
  seq: number;
  session_id: string;
  channel: string;
  ts: string;
  payload: unknown;
  run_id?: string;
  agent_path?: string;
  parent_tool_call_id?: string;
}
export type KagedEvent = KnownEvent | UnknownEvent;

export interface FollowOptions {
  /** The last `seq` that you have. 0, the default, begins with the session. */
  after?: number | undefined;
  /** Which messages that are being written begin with a `message.snapshot`: those of which deltas after `after` were
   * missed, or all: for who comes with the session's `last_seq` and has none of their text. */
  snapshots?: "missed" | "all" | undefined;
  /** Ends the iteration, without an error. */
  signal?: AbortSignal | undefined;
}

export interface Connection {
  address: string;
  protocols: string[];
  WebSocket?: typeof globalThis.WebSocket | undefined;
  /** null is for a stream without a memory. */
  after: number | null;
  snapshots?: "missed" | "all" | undefined;
  signal?: AbortSignal | undefined;
}

/** As many events may wait for a slow reader. Above it the socket is closed, and the stream resumes when they are read. */
const MOST_WAITING = 4096;
const KNOWN: ReadonlySet<string> = new Set(EVENT_TYPES);

/** Yield each event from `after` on, without end. Lost connections and restarts of the daemon are bridged.
 * Throws `KagedError` when the daemon does not let the stream come back. */
export async function* follow(connection: Connection): AsyncGenerator<KagedEvent, void, undefined> {
  const { signal } = connection;
  let waiting: Frame[] = [];
  let after = connection.after;
  let gone: KagedError | null = null;
  let stream: Stream | null = null;
  let wake = () => {};
  const stopped = () => wake();

  const connect = () =>
    new Stream(connection.address, {
      afterSeq: after,
      protocols: connection.protocols,
      ...(connection.snapshots ? { snapshots: connection.snapshots } : {}),
      ...(connection.WebSocket ? { WebSocket: connection.WebSocket } : {}),
      onFrame: (frame) => {
        waiting.push(frame);
        if (after !== null && waiting.length >= MOST_WAITING) {
          after = stream?.afterSeq ?? after;
          stream?.close();
          stream = null;
        }
        wake();
      },
      onGone: (code, reason) => {
        gone = closed(code, reason);
        wake();
      },
    });

  signal?.addEventListener("abort", stopped);
  try {
    while (!signal?.aborted) {
      if (waiting.length > 0) {
        const read = waiting;
        waiting = [];
        for (const frame of read) {
          if (signal?.aborted) return;
          yield typed(frame);
        }
        continue;
      }
      if (gone !== null) throw gone;
      stream ??= connect();
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  } finally {
    signal?.removeEventListener("abort", stopped);
    (stream as Stream | null)?.close();
  }
}

function typed(frame: Frame): KagedEvent {
  if (KNOWN.has(frame.type)) return frame as unknown as KnownEvent;
  return { ...frame, type: "unknown", name: frame.type };
}

const CLOSED = new Map([
  [4401, { status: 401, code: "unauthenticated", message: "The token is not valid." }],
  [4403, { status: 403, code: "forbidden", message: "The stream is not allowed." }],
  [4404, { status: 404, code: "not_found", message: "There is no such session." }],
]);

function closed(code: number, reason: string): KagedError {
  const { status, ...body } = CLOSED.get(code) ?? { status: 0, code: "failed", message: `The stream was closed (${code}).` };
  return new KagedError(status, reason ? { ...body, details: { reason } } : body);
}
