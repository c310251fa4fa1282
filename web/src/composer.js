// The message field and the buttons of a run; the state of the session decides which buttons are shown.

import { create, request } from "./api.js";
import { byId } from "./dom.js";

const CONTINUABLE = new Set(["length", "max_steps", "stuck"]);

const HINTS = {
  running: "The agent is running. Queue a message for after this run, or steer the agent at its next step.",
  queued: "This session is queued: the limit of running sessions is reached.",
  paused: "Paused. Resume continues from here; Stop ends the run.",
  archived: "This session is archived. It is read-only.",
};

const ASKING = "The agent waits for your answer. Resume continues without it; Stop ends the run.";
const CONSENT = "The agent waits for your answer. New messages are queued. Resume continues without the answer; Stop ends the run.";

/** Where this tab keeps unsent drafts, as a list of session and text. */
const DRAFTS = "kaged.drafts";

/** A keyboard on the screen has no Shift+Enter: there Enter breaks the line, and the button sends. */
const ON_SCREEN = matchMedia("(hover: none) and (pointer: coarse)");
/** The key code of a key that an input method takes. Safari ends a composition before it tells the key. */
const TAKEN_BY_INPUT_METHOD = 229;

/** Whether this key sends what is written. The Enter that accepts a word of an input method does not. */
function sends(event) {
  if (event.key !== "Enter" || event.isComposing || event.keyCode === TAKEN_BY_INPUT_METHOD) return false;
  if (event.ctrlKey || event.metaKey) return true;
  return !event.shiftKey && !event.altKey && !ON_SCREEN.matches;
}

export class Composer {
  #drafts = new Map(storedDrafts());
  #session = null;
  #busy = false;
  /** The action that the buttons wait for. */
  #underWay = Promise.resolve();

  /** `onError(error)` gets what could not be done. */
  constructor({ onError, onSent }) {
    this.onError = onError;
    this.onSent = onSent;
    this.form = byId("composer");
    this.text = byId("message");
    this.buttons = Object.fromEntries(["send", "stop", "pause", "resume", "continue"].map((name) => [name, byId(name)]));
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#send();
    });
    this.text.addEventListener("keydown", (event) => {
      if (!sends(event)) return;
      event.preventDefault();
      // A key that is held down sends once.
      if (!event.repeat) this.#send();
    });
    this.text.addEventListener("input", () => this.#grow());
    // A reload, or signing in again, takes nothing away that was written.
    addEventListener("pagehide", () => this.#storeDrafts());
    for (const [name, path] of [["stop", "cancel"], ["pause", "pause"], ["resume", "resume"], ["continue", "continue"]]) {
      this.buttons[name].addEventListener("click", () => this.#act(path));
    }
  }

  /** Write to this session from now on; null hides the form. */
  open(session) {
    if (this.#session) this.#drafts.set(this.#session.id, this.text.value);
    this.#session = session;
    this.form.hidden = session === null;
    this.text.value = session ? (this.#drafts.get(session.id) ?? "") : "";
    this.#grow();
  }

  #storeDrafts() {
    if (this.#session) this.#drafts.set(this.#session.id, this.text.value);
    const written = [...this.#drafts].filter(([, text]) => text);
    try {
      sessionStorage.setItem(DRAFTS, JSON.stringify(written));
    } catch {
      // There is no room for them, or the browser keeps nothing.
    }
  }

  /** Put a suggestion into the field. */
  suggest(text) {
    this.text.value = text;
    this.#grow();
    this.text.focus();
  }

  focus() {
    if (!this.form.hidden) this.text.focus({ preventScroll: true });
  }

  update(detail) {
    const state = detail.state;
    const running = state === "running";
    const waits = Boolean(detail.active_run) && !running;
    const takes = state === "idle" || running || waits || state === "queued";
    const writes = document.activeElement === this.text;
    this.text.disabled = !takes;
    this.buttons.send.disabled = !takes || this.#busy;
    byId("mode").hidden = !(running || waits);
    this.#show({
      stop: running || state === "queued" || state === "paused",
      pause: running || waits,
      resume: state === "paused" || state === "queued",
      continue: state === "idle" && CONTINUABLE.has(detail.last_run?.reason),
    });
    this.buttons.resume.textContent = state === "queued" ? "Start now" : "Resume";
    const asks = state === "paused" && detail.state_reason === "interaction";
    const hides = asks && !waits;
    if (this.text.hidden !== hides) {
      // The keyboard goes on where the question is, not at the beginning of the page.
      if (hides && writes) byId("questions").focus({ preventScroll: true });
      this.text.hidden = hides;
      this.#grow();
    }
    const hint = byId("hint");
    hint.hidden = !HINTS[state];
    hint.textContent = asks ? (waits ? CONSENT : ASKING) : (HINTS[state] ?? "");
  }

  #show(visible) {
    for (const [name, shown] of Object.entries(visible)) {
      const button = this.buttons[name];
      if (!shown && document.activeElement === button) this.text.focus({ preventScroll: true });
      button.hidden = !shown;
    }
  }

  async #send() {
    const session = this.#session;
    await this.#underWay;
    const content = this.text.value;
    if (session !== this.#session || !content.trim() || this.buttons.send.disabled) return;
    const mode = byId("mode").hidden ? "queue" : new FormData(this.form).get("mode");
    await this.#doing(async () => {
      await create(`${session.path}/messages`, { content, mode });
      if (session === this.#session && this.text.value === content) this.text.value = "";
      this.#drafts.delete(session.id);
      this.#grow();
      this.onSent();
    });
    this.text.focus({ preventScroll: true });
  }

  #act(action) {
    const session = this.#session;
    return this.#doing(() => request("POST", `${session.path}/${action}`));
  }

  #doing(work) {
    this.#underWay = this.#done(work);
    return this.#underWay;
  }

  async #done(work) {
    this.#busy = true;
    this.form.setAttribute("aria-busy", "true");
    this.buttons.send.disabled = true;
    try {
      await work();
    } catch (error) {
      this.onError(error);
    }
    this.#busy = false;
    this.form.removeAttribute("aria-busy");
    const session = this.#session;
    if (session?.detail) this.update(session.detail);
  }

  #grow() {
    this.text.style.height = "auto";
    this.text.style.height = `${Math.min(this.text.scrollHeight + 2, innerHeight * 0.4)}px`;
  }
}

function storedDrafts() {
  try {
    return JSON.parse(sessionStorage.getItem(DRAFTS)) ?? [];
  } catch {
    return [];
  }
}
