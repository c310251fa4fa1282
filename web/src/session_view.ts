// The view of the open session: conversation, questions, message field, details.

import { Composer } from "./composer/composer.ts";
import { Conversation } from "./thread/conversation.svelte.ts";
import type { Schemas } from "./api.ts";
import { byId, findById, h } from "./dom.ts";
import { lazily } from "./lazy.ts";
import { forget, type Trouble } from "./notices.ts";
import type { Page } from "./page.ts";
import { Questions } from "./questions/questions.svelte.ts";
import { to } from "./routes.ts";
import { OpenSession } from "./thread/open_session.ts";
import { SessionActions } from "./thread/actions.ts";
import type { Frame } from "./thread/types.ts";
import { Details } from "./workspace/workspace.ts";
import { failed, sessionWord, stateWords } from "./session_words.ts";

const SUGGESTIONS = ["Explain this project", "Fix the failing test", "Write a missing test"];
const NOT_HERE = "not_here";

type Detail = Schemas["SessionDetail"];

export class SessionView {
  readonly page: Page;
  readonly conversation: Conversation;
  readonly scroll: Conversation["scroll"];
  readonly composer: Composer;
  readonly details: Details;
  readonly questions: Questions;
  #session: OpenSession | null = null;
  #failed: string | null = null;
  /** The message that was chosen before its session began. */
  #first = "";
  #welcomes = false;

  constructor(page: Page) {
    this.page = page;
    const failed = page.failed;
    const actions = new SessionActions({
      session: () => this.#session,
      onFork: (made) => page.sidebar.refresh().then(() => (location.hash = to.session(made.id)), failed),
      onQuote: (text) => this.composer.quote(text),
      onError: failed,
    });
    this.conversation = new Conversation(byId("conversation"), byId("waiting"), { onGap: () => this.#session?.reload(), onOlder: async () => (await this.#session?.older()) ?? false, actions });
    this.scroll = this.conversation.scroll;
    addEventListener("hashchange", () => this.#showNamed());
    this.composer = new Composer({ onError: failed, onSent: () => this.#sent(), onGone: (id) => this.#gone(id) });
    byId("share").addEventListener("click", () => this.#share());
    this.details = new Details({ onError: failed, onGone: (id) => this.#gone(id), onQuote: (text) => this.composer.quote(text) });
    page.sidebar.onProjects = () => this.#welcomes && this.#welcome();
    this.questions = new Questions({ onError: failed, onChange: () => this.#session?.detail && this.#showState(this.#session.detail), onOpen: (question) => this.conversation.asks(question), onClosed: (question) => this.conversation.answered(question) });
  }

  /** The session that is open, null when none is. */
  get session(): OpenSession | null {
    return this.#session;
  }

  /** The daemon is there again: what could not be opened is tried once more. */
  again(): void {
    if (this.#failed) this.open(this.#failed);
  }

  /** Leave the open session. */
  close(): void {
    this.#welcomes = false;
    this.#failed = null;
    this.#session?.close();
    this.#session = null;
    this.conversation.clear();
    this.composer.open(null);
    this.details.show(null);
    this.questions.open(null);
    byId("state").hidden = true;
    byId("share").hidden = true;
    byId("bound-issue").hidden = true;
    byId("connection").textContent = "";
    byId("connection").hidden = true;
    delete byId("connection").dataset.status;
  }

  /** Show this session in place of the one that is open; null shows the way to begin one. */
  async open(id: string | null): Promise<void> {
    this.close();
    if (!id) {
      this.page.title("kaged");
      this.#welcome();
      return;
    }
    const opened: OpenSession = new OpenSession(id, this.conversation, {
      onDetail: (detail) => opened === this.#session && this.#showDetail(detail),
      onFrame: (frame) => opened === this.#session && this.#showFrame(frame),
      onStatus: showStatus,
      onReload: () => opened === this.#session && this.questions.refresh().catch(this.page.failed),
      onError: (error) => this.#trouble(id, error),
    });
    this.#session = opened;
    const focused = document.activeElement;
    byId("conversation").setAttribute("aria-busy", "true");
    try {
      await opened.open();
      if (opened !== this.#session) return;
      await this.questions.open(opened);
      if (opened !== this.#session) return;
      this.composer.open(opened);
      if (opened.detail) this.#showDetail(opened.detail);
      this.details.show(opened);
      this.#suggestions();
      this.scroll.toEnd();
      // Where a person has put the focus meanwhile, it stays.
      if (!(await this.#showNamed()) && [focused, document.body].includes(document.activeElement)) this.composer.focus();
      if (this.#first && this.conversation.empty) this.composer.suggest(this.#first);
      this.#first = "";
    } catch (error) {
      if (opened === this.#session) {
        this.#failed = id;
        this.#trouble(id, error);
      }
    }
    byId("conversation").removeAttribute("aria-busy");
  }

  /** Show the message or the run that the address names. Returns whether it names one that is there. */
  async #showNamed(): Promise<boolean> {
    const { hash } = location;
    const [session, id] = hash.slice(1).split("/");
    forget(NOT_HERE);
    if (!id || !/^(msg|run)_\w+$/.test(id) || session !== this.#session?.id) return false;
    const shown = await this.conversation.show(id);
    if (!shown && hash === location.hash) this.page.failed({ code: NOT_HERE, message: "What the address names is not in this conversation." });
    return shown;
  }

  #sent(): void {
    forget("unreachable");
    this.scroll.toEnd();
  }

  #trouble(id: string, error: unknown): void {
    this.page.failed(error);
    const { code, status } = error as Trouble;
    if (code !== 4404 && status !== 404) return;
    // Somebody has deleted it: what was said can still be read.
    this.page.sidebar.remove(id);
    this.#failed = null;
    if (this.#session?.id !== id) return;
    if (!this.#session.detail) this.page.title("No such session");
    this.composer.open(null);
    byId("state").hidden = true;
  }

  #showDetail(detail: Detail): void {
    this.page.title(detail.title || "New session");
    byId("share").hidden = false;
    this.#showState(detail);
    showBoundIssue(detail);
    this.composer.update(detail);
    this.page.sidebar.update(detail.id, { state: detail.state, state_reason: detail.state_reason, title: detail.title, last_run: detail.last_run });
    if (detail.state === "idle") this.details.draw();
  }

  #showState(detail: Detail): void {
    const state = byId("state");
    const asking = this.questions.count > 0;
    state.hidden = false;
    state.dataset.state = detail.state;
    state.toggleAttribute("data-asking", asking);
    state.toggleAttribute("data-failed", failed(detail));
    state.textContent = asking ? "asks you" : sessionWord(detail);
    byId("state-words").textContent = stateWords(detail, asking);
  }

  #showFrame(frame: Frame): void {
    this.questions.frame(frame);
    if (frame.type === "message.posted") findById("suggestions")?.remove();
    this.composer.frame(frame);
    this.details.frame(frame);
  }

  async #share(): Promise<void> {
    if (!this.#session) return;
    const { path } = this.#session;
    try {
      (await lazily(() => import("./sharing/share_dialog.ts"))).openShare(path);
    } catch (error) {
      this.page.failed(error);
    }
  }

  #gone(id: string): void {
    this.page.sidebar.remove(id);
    if (this.#session?.id === id) location.hash = "";
  }

  /** Nothing is open: show the way to a first success. */
  async #welcome(): Promise<void> {
    const { sidebar, failed } = this.page;
    this.#welcomes = true;
    try {
      const { showFirstSteps } = await lazily(() => import("./settings/first_steps.ts"));
      if (!this.#welcomes) return;
      showFirstSteps(byId("conversation"), sidebar, SUGGESTIONS, (projectId, text) => {
        this.#first = text;
        sidebar.create(projectId);
      });
    } catch (error) {
      failed(error);
    }
  }

  #suggestions(): void {
    if (!this.conversation.empty) return;
    const buttons = SUGGESTIONS.map((text) => h("button", { type: "button", onclick: () => this.composer.suggest(text) }, text));
    byId("conversation").append(
      h("div", { class: "welcome", id: "suggestions" }, h("h2", {}, "What should the agent do?"), h("p", { class: "quiet" }, "For example:"), h("div", { class: "row wrap" }, buttons)),
    );
  }
}

const CONNECTIONS: Record<string, [word: string, words: string]> = {
  live: ["live", "What happens in the session shows here at once."],
  gone: ["not connected", "What happens in the session does not show here. A message above says why."],
};

function showStatus(status: string): void {
  const element = byId("connection");
  const [word, words] = CONNECTIONS[status] ?? ["connecting…", "The page is not connected to the daemon and tries again. What happens meanwhile shows after that."];
  element.hidden = false;
  element.dataset.status = status;
  element.textContent = word;
  byId("connection-words").textContent = words;
}

/** The issue that the session works on, as a link beside its title. */
function showBoundIssue(detail: Detail): void {
  const link = byId("bound-issue") as HTMLAnchorElement;
  link.hidden = !detail.issue_number;
  if (!detail.issue_number) return;
  link.href = to.issue(detail.project_id, detail.issue_number);
  link.textContent = `#${detail.issue_number}`;
  link.title = `Works on issue ${detail.issue_number}`;
}
