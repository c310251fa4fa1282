// The view of the open session: conversation, questions, message field, details.

import { Composer } from "./composer.js";
import { Conversation } from "./conversation.js";
import { Details } from "./details.js";
import { byId, h, replace } from "./dom.js";
import { words } from "./format.js";
import { History } from "./history.js";
import { forget } from "./notices.js";
import { Questions } from "./questions.js";
import { to } from "./routes.js";
import { followScroll } from "./scroll.js";
import { OpenSession } from "./session.js";
import { ModeSelect } from "./session_mode.js";
import { failed, sessionWord } from "./session_words.js";

const SUGGESTIONS = ["Explain this project", "Fix the failing test", "Write a missing test"];

export class SessionView {
  #session = null;
  #failed = null;

  /** `page` has `title(text)`, `failed(error)` and `sidebar`. */
  constructor(page) {
    this.page = page;
    const failed = page.failed;
    this.scroll = followScroll(byId("conversation-scroll"), byId("to-end"));
    const history = new History({
      path: () => this.#session.path,
      onChanged: () => this.#session?.refresh().catch(failed),
      onFork: (made) => page.sidebar.refresh().then(() => (location.hash = to.session(made.id)), failed),
      onError: failed,
    });
    this.conversation = new Conversation(byId("conversation"), byId("waiting"), { onGap: () => this.#session?.reload(), history });
    this.composer = new Composer({ onError: failed, onSent: () => this.#sent() });
    this.mode = new ModeSelect({ onError: failed });
    this.details = new Details({ onError: failed, onGone: (id) => this.#gone(id) });
    this.questions = new Questions({ onError: failed, onChange: () => this.#session?.detail && this.#showState(this.#session.detail), onOpen: (question) => this.conversation.asks(question), onClosed: (question) => this.conversation.answered(question) });
  }

  /** The session that is open, null when none is. */
  get session() {
    return this.#session;
  }

  /** The daemon is there again: what could not be opened is tried once more. */
  again() {
    if (this.#failed) this.open(this.#failed);
  }

  /** Leave the open session. */
  close() {
    this.#failed = null;
    this.#session?.close();
    this.#session = null;
    this.conversation.clear();
    this.composer.open(null);
    this.details.show(null);
    this.questions.open(null);
    this.mode.open(null);
    byId("state").hidden = true;
    byId("bound-issue").hidden = true;
    byId("connection").textContent = "";
    delete byId("connection").dataset.status;
  }

  /** Show this session in place of the one that is open; null shows the way to begin one. */
  async open(id) {
    this.close();
    if (!id) {
      this.page.title("kaged");
      this.#welcome();
      return;
    }
    const opened = new OpenSession(id, this.conversation, {
      onDetail: (detail) => opened === this.#session && this.#showDetail(detail),
      onFrame: (frame) => opened === this.#session && this.#showFrame(frame),
      onStatus: showStatus,
      onReload: () => opened === this.#session && this.questions.refresh().catch(this.page.failed),
      onError: (error) => this.#trouble(id, error),
    });
    this.#session = opened;
    byId("conversation").setAttribute("aria-busy", "true");
    try {
      await opened.open();
      if (opened !== this.#session) return;
      await this.questions.open(opened);
      if (opened !== this.#session) return;
      await this.mode.open(opened);
      if (opened !== this.#session) return;
      this.composer.open(opened);
      this.#showDetail(opened.detail);
      this.details.show(opened);
      this.#suggestions();
      this.scroll.toEnd();
      this.composer.focus();
    } catch (error) {
      if (opened === this.#session) {
        this.#failed = id;
        this.#trouble(id, error);
      }
    }
    byId("conversation").removeAttribute("aria-busy");
  }

  #sent() {
    forget("unreachable");
    this.scroll.toEnd();
  }

  #trouble(id, error) {
    this.page.failed(error);
    if (error.code !== 4404 && error.status !== 404) return;
    // Somebody has deleted it: what was said can still be read.
    this.page.sidebar.remove(id);
    this.#failed = null;
    if (this.#session?.id !== id) return;
    this.composer.open(null);
    byId("state").hidden = true;
  }

  #showDetail(detail) {
    this.page.title(detail.title || "New session");
    this.#showState(detail);
    showBoundIssue(detail);
    this.composer.update(detail);
    this.mode.update(detail);
    this.page.sidebar.update(detail.id, { state: detail.state, state_reason: detail.state_reason, title: detail.title, last_run: detail.last_run });
    if (detail.state === "idle") this.details.draw();
  }

  #showState(detail) {
    const state = byId("state");
    const asking = this.questions.count > 0;
    state.hidden = false;
    state.dataset.state = detail.state;
    state.toggleAttribute("data-asking", asking);
    state.toggleAttribute("data-failed", failed(detail));
    state.textContent = asking ? "asks you" : sessionWord(detail);
    state.title = detail.state_reason ? words(detail.state_reason) : "";
  }

  #showFrame(frame) {
    this.questions.frame(frame);
    if (frame.type === "message.posted") byId("suggestions")?.remove();
    this.details.frame(frame);
  }

  #gone(id) {
    this.page.sidebar.remove(id);
    if (this.#session?.id === id) location.hash = "";
  }

  #welcome() {
    const { sidebar } = this.page;
    const buttons = sidebar.projects.map((project) =>
      h("button", { type: "button", class: "primary", onclick: () => sidebar.create(project.id) }, `New session in ${project.slug}`),
    );
    const text = buttons.length ? "Select a session on the left, or start a new one." : "Load a project on the left to begin.";
    replace(byId("conversation"), h("div", { class: "welcome" }, h("h2", {}, "No session is open"), h("p", {}, text), buttons));
  }

  #suggestions() {
    if (!this.conversation.empty) return;
    const buttons = SUGGESTIONS.map((text) => h("button", { type: "button", onclick: () => this.composer.suggest(text) }, text));
    byId("conversation").append(
      h("div", { class: "welcome", id: "suggestions" }, h("h2", {}, "What should the agent do?"), h("p", { class: "quiet" }, "For example:"), h("div", { class: "row wrap" }, buttons)),
    );
  }
}

function showStatus(status) {
  const element = byId("connection");
  element.dataset.status = status;
  element.textContent = { live: "live", gone: "not connected" }[status] ?? "connecting…";
}

/** The issue that the session works on, as a link beside its title. */
function showBoundIssue(detail) {
  const link = byId("bound-issue");
  link.hidden = !detail.issue_number;
  if (!detail.issue_number) return;
  link.href = to.issue(detail.project_id, detail.issue_number);
  link.textContent = `#${detail.issue_number}`;
  link.title = `Works on issue ${detail.issue_number}`;
}
