// A WebSocket that reconnects: it remembers the last `seq` and requests the missed frames.
// The page imports this file, too. So it depends on nothing: it runs in browsers, Node, Deno and Bun, and its types are
// comments.

const FIRST_PAUSE = 250;
const LONGEST_PAUSE = 5000;
const PING_EVERY = 25_000;
const SILENCE = 60_000;
const PING = '{"type":"ping"}';
const CONNECTING = 0;
const OPEN = 1;
/** The code of a connection that was lost without one. */
const LOST = 1006;

/** Codes after which it makes no sense to come back: not signed in, not allowed, no such session. */
const FINAL = new Set([4401, 4403, 4404]);

/**
 * @typedef {{ seq: number, type: string, channel: string, session_id: string, ts: string, payload: object, agent_path?: string, run_id?: string, parent_tool_call_id?: string }} Frame
 * @typedef {object} StreamOptions
 * @property {number | null} [afterSeq] the last `seq` that is known; null is for streams without a memory
 * @property {"missed" | "all"} [snapshots] which messages in flight get a `message.snapshot` when it connects
 * @property {string[]} [protocols] the subprotocols, for a token
 * @property {typeof globalThis.WebSocket} [WebSocket] for runtimes that have no global one
 * @property {(frame: Frame) => void} onFrame called with each frame, in order
 * @property {(status: "live" | "connecting" | "gone") => void} [onStatus]
 * @property {(code: number, reason: string) => void} [onGone] called once, when it makes no sense to come back
 */

export class Stream {
  /** @type {WebSocket | null} */
  #socket = null;
  #closed = false;
  #pause = FIRST_PAUSE;
  #heardAt = 0;
  #live = false;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #retry;
  /** @type {ReturnType<typeof setInterval> | undefined} */
  #clock;
  /** @type {StreamOptions} */
  #options;
  #wake = () => this.#awake();

  /**
   * @param {string} address the WebSocket's complete address, without `after_seq`
   * @param {StreamOptions} options
   */
  constructor(address, options) {
    this.address = address;
    this.afterSeq = options.afterSeq ?? null;
    this.#options = options;
    this.#clock = setInterval(() => this.#watch(), PING_EVERY);
    globalThis.addEventListener?.("online", this.#wake);
    globalThis.document?.addEventListener("visibilitychange", this.#wake);
    this.#connect();
  }

  close() {
    this.#closed = true;
    clearInterval(this.#clock);
    clearTimeout(this.#retry);
    globalThis.removeEventListener?.("online", this.#wake);
    globalThis.document?.removeEventListener("visibilitychange", this.#wake);
    this.#socket?.close();
  }

  #connect() {
    this.#live = false;
    this.#options.onStatus?.("connecting");
    const { protocols, snapshots } = this.#options;
    const query = this.afterSeq === null ? "" : `?after_seq=${this.afterSeq}${snapshots ? `&snapshots=${snapshots}` : ""}`;
    const Socket = this.#options.WebSocket ?? globalThis.WebSocket;
    const socket = new Socket(this.address + query, protocols ?? []);
    this.#socket = socket;
    this.#heardAt = Date.now();
    socket.onopen = () => {
      // A daemon that refuses opens the socket as well, to say why: the first word distinguishes them.
      if (socket === this.#socket) socket.send(PING);
    };
    socket.onmessage = (event) => {
      if (socket === this.#socket && !this.#closed) this.#take(event.data);
    };
    socket.onerror = () => {
      // A close follows and has the code. In Node 20 none follows when the connection cannot be made.
      if (socket === this.#socket && socket.readyState === CONNECTING) this.#lost({ code: LOST, reason: "" });
    };
    socket.onclose = (event) => {
      if (socket === this.#socket) this.#lost(event);
    };
  }

  /** @param {string} text */
  #take(text) {
    this.#heardAt = Date.now();
    if (!this.#live) {
      this.#live = true;
      this.#pause = FIRST_PAUSE;
      this.#options.onStatus?.("live");
    }
    const frame = JSON.parse(text);
    if (frame.seq === undefined) return;
    if (this.afterSeq !== null) this.afterSeq = frame.type === "resync" ? frame.seq : Math.max(this.afterSeq, frame.seq);
    this.#options.onFrame(frame);
  }

  /** @param {{ code: number, reason: string }} event */
  #lost({ code, reason }) {
    this.#socket = null;
    if (this.#closed) return;
    if (FINAL.has(code)) {
      this.close();
      this.#options.onStatus?.("gone");
      this.#options.onGone?.(code, reason);
      return;
    }
    this.#options.onStatus?.("connecting");
    this.#retry = setTimeout(() => this.#connect(), this.#pause * (0.5 + Math.random() / 2));
    this.#pause = Math.min(this.#pause * 2, LONGEST_PAUSE);
  }

  #watch() {
    if (this.#socket === null) return;
    if (Date.now() - this.#heardAt > SILENCE) {
      // The other side is gone without a word, as after a laptop's sleep, or has never answered.
      this.#abandon(this.#socket);
      return;
    }
    if (this.#socket.readyState === OPEN) this.#socket.send(PING);
  }

  /** @param {WebSocket} socket */
  #abandon(socket) {
    this.#socket = null;
    socket.close();
    this.#connect();
  }

  #awake() {
    if (this.#closed || globalThis.document?.hidden) return;
    if (this.#socket === null) {
      clearTimeout(this.#retry);
      this.#connect();
    } else {
      this.#watch();
    }
  }
}
