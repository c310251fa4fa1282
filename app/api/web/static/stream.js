// A WebSocket that reconnects: it remembers the last `seq` and requests the missed frames.

import { socketAddress } from "/static/api.js";

const FIRST_PAUSE = 250;
const LONGEST_PAUSE = 5000;
const PING_EVERY = 25_000;
const SILENCE = 60_000;
const PING = '{"type":"ping"}';

const FINAL = {
  4401: "This browser is no longer signed in.",
  4403: "The daemon refuses this browser.",
  4404: "This session was deleted.",
};

/** What is said in place of it for some reasons. */
const WHY = { origin_not_allowed: `The daemon does not know this page's address. Behind a proxy, add ${location.origin} to auth.allowed_origins.` };

/** `onFrame(frame)` for each frame, `onStatus("live" | "connecting" | "gone")`, `onGone(code, words)` when it makes
 * no sense to come back. `afterSeq` null is for streams without a memory. */
export class Stream {
  #socket = null;
  #closed = false;
  #pause = FIRST_PAUSE;
  #heardAt = 0;
  #live = false;
  #retry = null;
  #clock = null;

  constructor(path, { afterSeq = null, onFrame, onStatus, onGone }) {
    this.path = path;
    this.afterSeq = afterSeq;
    this.onFrame = onFrame;
    this.onStatus = onStatus;
    this.onGone = onGone;
    this.#clock = setInterval(() => this.#watch(), PING_EVERY);
    this.wake = () => this.#wake();
    addEventListener("online", this.wake);
    document.addEventListener("visibilitychange", this.wake);
    this.#connect();
  }

  close() {
    this.#closed = true;
    clearInterval(this.#clock);
    clearTimeout(this.#retry);
    removeEventListener("online", this.wake);
    document.removeEventListener("visibilitychange", this.wake);
    this.#socket?.close();
  }

  #connect() {
    this.#live = false;
    this.onStatus("connecting");
    const query = this.afterSeq === null ? "" : `?after_seq=${this.afterSeq}`;
    const socket = new WebSocket(socketAddress(this.path + query));
    this.#socket = socket;
    this.#heardAt = Date.now();
    socket.onopen = () => {
      // A daemon that refuses opens the socket as well, to say why: the first word distinguishes them.
      if (socket === this.#socket) socket.send(PING);
    };
    socket.onmessage = (event) => {
      if (socket === this.#socket) this.#take(event.data);
    };
    socket.onclose = (event) => {
      if (socket === this.#socket) this.#lost(event);
    };
  }

  #take(text) {
    this.#heardAt = Date.now();
    if (!this.#live) {
      this.#live = true;
      this.#pause = FIRST_PAUSE;
      this.onStatus("live");
    }
    const frame = JSON.parse(text);
    if (frame.seq === undefined) return;
    if (this.afterSeq !== null) this.afterSeq = frame.type === "resync" ? frame.seq : Math.max(this.afterSeq, frame.seq);
    this.onFrame(frame);
  }

  #lost({ code, reason }) {
    this.#socket = null;
    if (this.#closed) return;
    if (FINAL[code]) {
      this.close();
      this.onStatus("gone");
      this.onGone(code, WHY[reason] ?? FINAL[code]);
      return;
    }
    this.onStatus("connecting");
    this.#retry = setTimeout(() => this.#connect(), this.#pause * (0.5 + Math.random() / 2));
    this.#pause = Math.min(this.#pause * 2, LONGEST_PAUSE);
  }

  #watch() {
    if (this.#socket === null) return;
    if (Date.now() - this.#heardAt > SILENCE) {
      // The other side is gone without a word, as after a laptop's sleep, or has never answered.
      this.#abandon();
      return;
    }
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send(PING);
  }

  #abandon() {
    const socket = this.#socket;
    this.#socket = null;
    socket.close();
    this.#connect();
  }

  #wake() {
    if (this.#closed || document.hidden) return;
    if (this.#socket === null) {
      clearTimeout(this.#retry);
      this.#connect();
    } else {
      this.#watch();
    }
  }
}
