// The sidebar: the views, and the projects with their entries of the open view. It follows the stream of all
// sessions, and forwards its frames.

import { address, allItems, create, request, socketAddress } from "./api.js";
import { byId, h, oncePerFrame, redraw } from "./dom.js";
import { ago } from "./format.js";
import { rail } from "./frame/rail.svelte.ts";
import { goneWords } from "./gone.js";
import { to } from "./routes.js";
import { asks, failed, sessionWord } from "./session_words.js";
import { Stream } from "../../clients/typescript/src/stream.js";

const PAGE = 50;
const MOST = 100;
const REFRESH_EVERY = 60_000;

const ASKS = { untrusted: "Not trusted: review", changed: "New version: review" };

export class Sidebar {
  #projects = [];
  #sessions = [];
  #cursor = null;
  #wasLive = false;
  #asked = new Map();

  /** `onFrame(frame)` gets what the stream of all sessions brings, `onAgain()` is called when it was away. */
  constructor({ onError, onOpen, onFrame, onAgain }) {
    this.root = byId("projects");
    this.onFrame = onFrame;
    this.onAgain = onAgain;
    this.onError = onError;
    this.onOpen = onOpen;
    this.route = { view: "sessions", session: null, project: null };
    this.lastSession = null;
    this.draw = oncePerFrame(() => this.#draw());
    byId("load-project").addEventListener("submit", (event) => {
      event.preventDefault();
      this.#loadProject(event.target);
    });
  }

  async start() {
    try {
      await this.refresh();
    } catch (error) {
      // The stream brings the list once it is live.
      this.#wasLive = true;
      throw error;
    } finally {
      this.#follow();
    }
  }

  #follow() {
    setInterval(() => this.draw(), REFRESH_EVERY);
    // Projects have no stream of their own: a return to the page reads them again.
    addEventListener("focus", () => this.refresh().catch(this.onError));
    this.stream = new Stream(socketAddress("/ws"), {
      onFrame: (frame) => this.#take(frame),
      onStatus: (status) => {
        // What happened while nobody listened is in the list, not in the stream.
        if (status === "live" && this.#wasLive) {
          this.refresh().catch(this.onError);
          this.onAgain();
        }
        this.#wasLive ||= status === "live";
      },
      onGone: (code, reason) => this.onError({ code, message: goneWords(code, reason) }),
    });
  }

  get projects() {
    return this.#projects;
  }

  async refresh() {
    const [projects, page] = await Promise.all([
      allItems("/projects"),
      request("GET", address("/sessions", { limit: Math.min(Math.max(this.#sessions.length, PAGE), MOST) })),
    ]);
    this.#projects = projects;
    this.#sessions = page.items;
    this.#cursor = page.next_cursor;
    this.draw();
    const open = this.route.session;
    if (open && !page.items.some((session) => session.id === open)) this.#fetch(open);
  }

  /** Return the project of what was open last: of a page outside the sessions, or of a session. */
  projectOf(route, session) {
    return route.project ?? session?.detail?.project_id ?? null;
  }

  /** Show what this route opens as open. */
  select(route) {
    this.route = route;
    const sessionId = route.session ?? null;
    if (route.view === "sessions") this.lastSession = sessionId;
    this.draw();
    if (sessionId && !this.#sessions.some((session) => session.id === sessionId)) this.#fetch(sessionId);
  }

  async create(projectId) {
    try {
      const session = await create("/sessions", { project_id: projectId });
      this.#put(session);
      this.onOpen(session.id);
    } catch (error) {
      this.onError(error);
    }
  }

  /** The session changed; `values` are what is known of it now. */
  update(sessionId, values) {
    const known = this.#sessions.find((session) => session.id === sessionId);
    if (known === undefined) return;
    Object.assign(known, values);
    this.draw();
  }

  remove(sessionId) {
    if (this.lastSession === sessionId) this.lastSession = null;
    this.#sessions = this.#sessions.filter((session) => session.id !== sessionId);
    this.draw();
  }

  #take(frame) {
    const { type, session_id: id, agent_path: agentPath, payload } = frame;
    this.onFrame(frame);
    if (type.startsWith("permission.") || type.startsWith("interaction.")) this.#countQuestions(id);
    if (type === "run.ended" && agentPath === "primary") this.update(id, { last_run: { id: payload.run_id, state: payload.state, reason: payload.reason } });
    if (!type.startsWith("session.") && type !== "run.started") return;
    if (!this.#sessions.some((session) => session.id === id)) this.#fetch(id);
    else if (type === "session.state") this.update(id, { state: payload.state, state_reason: payload.reason });
    else if (type === "session.updated") this.update(id, { title: payload.title });
  }

  /** Read how many questions of this session wait for a human; of several answers the newest counts. */
  async #countQuestions(sessionId) {
    const turn = (this.#asked.get(sessionId) ?? 0) + 1;
    this.#asked.set(sessionId, turn);
    try {
      const { pending_interactions: pending } = await request("GET", `/sessions/${encodeURIComponent(sessionId)}`);
      if (turn === this.#asked.get(sessionId)) this.update(sessionId, { pending_interactions: pending });
    } catch {
      // Gone meanwhile, or the list is read again once the daemon answers.
    }
  }

  async #fetch(sessionId) {
    try {
      this.#put(await request("GET", `/sessions/${encodeURIComponent(sessionId)}`));
    } catch {
      // Gone already, or never there: the conversation shows that.
    }
  }

  #put(session) {
    if (this.#sessions.some((known) => known.id === session.id)) return;
    this.#sessions.push(session);
    this.#sessions.sort((one, other) => (one.id < other.id ? 1 : -1));
    this.draw();
  }

  async #more() {
    try {
      const page = await request("GET", address("/sessions", { limit: PAGE, cursor: this.#cursor }));
      page.items.forEach((session) => this.#put(session));
      this.#cursor = page.next_cursor;
      this.draw();
    } catch (error) {
      this.onError(error);
    }
  }

  async #loadProject(form) {
    const button = form.querySelector("button");
    button.disabled = true;
    try {
      await request("POST", "/projects/load", { path: new FormData(form).get("path") });
      form.reset();
      await this.refresh();
    } catch (error) {
      this.onError(error);
    }
    button.disabled = false;
  }

  #draw() {
    this.#drawViews();
    const inSessions = this.route.view === "sessions";
    const none = this.#projects.length === 0 && h("p", { class: "quiet pad" }, "No project is loaded yet. Load one below: a folder with a .kaged/project.yaml in it.");
    if (!inSessions) {
      redraw(this.root, none, h("ul", { class: "project-list" }, this.#projects.map((project) => this.#projectLink(project))));
      return;
    }
    const sections = this.#projects.map((project) => this.#section(project));
    const more = this.#cursor && h("button", { type: "button", class: "link", onclick: () => this.#more() }, "Older sessions");
    redraw(this.root, none, sections, more);
  }

  #drawViews() {
    const { project } = this.route;
    rail.view = this.route.view;
    rail.addresses = {
      sessions: to.session(this.lastSession),
      issues: project ? to.issues(project) : "#issues",
      workflows: project ? to.workflows(project) : "#workflows",
    };
    rail.asking = this.#sessions.filter(asks).length;
  }

  #projectLink(project) {
    const current = project.id === this.route.project;
    return h(
      "li",
      {},
      h(
        "a",
        { class: "session", href: to[this.route.view](project.id), title: project.root, data: { key: `project-${project.id}` }, "aria-current": current ? "true" : undefined },
        h("span", { class: "session-title" }, project.slug),
      ),
    );
  }

  #section(project) {
    const sessions = this.#sessions.filter((session) => session.project_id === project.id);
    const create = h(
      "button",
      { type: "button", class: "new", disabled: project.trust.state === "untrusted", data: { key: `new-${project.id}` }, "aria-label": `New session in ${project.slug}`, onclick: () => this.create(project.id) },
      "+ New session",
    );
    return h(
      "section",
      { "aria-label": project.slug },
      h("h2", { title: project.root }, project.slug),
      project.description ? h("p", { class: "quiet project-about" }, project.description) : null,
      project.state === "invalid" ? h("button", { type: "button", class: "link warning", onclick: () => this.#tellProblems(project) }, "The project file has errors") : null,
      project.trust.state === "trusted" ? null : h("a", { class: "plain-link warning", href: to.trust(project.id), data: { key: `trust-${project.id}` } }, ASKS[project.trust.state]),
      create,
      h("ul", {}, sessions.map((session) => this.#item(session))),
    );
  }

  async #tellProblems(project) {
    try {
      const { diagnostics } = await request("GET", `/projects/${encodeURIComponent(project.id)}`);
      this.onError({ message: `${project.slug}: the project file has errors; the last good version stays in use.`, details: { diagnostics } });
    } catch (error) {
      this.onError(error);
    }
  }

  #item(session) {
    const current = session.id === this.route.session;
    const marks = { ...(asks(session) ? { asking: "" } : {}), ...(failed(session) ? { failed: "" } : {}) };
    return h(
      "li",
      {},
      h(
        "a",
        { href: to.session(session.id), class: "session", data: { key: session.id, state: session.state, ...marks }, "aria-current": current ? "page" : undefined },
        h("span", { class: "dot", title: sessionWord(session), "aria-hidden": "true" }),
        h("span", { class: "session-title" }, session.title || "New session"),
        h("span", { class: "quiet" }, session.state === "idle" && !failed(session) ? ago(session.created_at) : sessionWord(session)),
      ),
    );
  }
}
