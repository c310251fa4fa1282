// The projects and the sessions that the list shows. They follow the stream of all sessions, whose frames are passed on.

import { Stream, type Frame } from "../../../clients/typescript/src/stream.js";
import { address, allItems, create, request, socketAddress, type Page, type Schemas } from "../api.ts";
import { rail } from "../frame/rail.svelte.ts";
import { goneWords } from "../gone.ts";
import { later } from "../later.ts";
import type { Trouble } from "../notices.ts";
import { to } from "../routes.ts";
import { asked, belongs, type Choice, type Project, type Session } from "./choice.ts";
import { keep, keptObject } from "./kept.ts";

const PAGE = 50;
const MOST = 100;
const TICK = 60_000;

interface Route {
  view: string;
  session?: string | null;
  project?: string | null;
}
interface Hooks {
  onError: (error: Trouble) => void;
  onOpen: (id: string) => void;
  onFrame: (frame: Frame) => void;
  /** The stream was away. */
  onAgain: () => void;
}

type Run = NonNullable<Session["last_run"]>;
/** What the frames that the list follows say. */
interface Payload {
  run_id: string;
  state: string;
  reason: string | null;
  title: string;
  seen_run_id: string | null;
}

interface Kept {
  group: boolean;
  project: string | null;
}

function facts(projects: Project[]): string {
  return JSON.stringify(projects.map(({ id, trust }) => [id, trust.state]));
}

export class Sessions {
  projects = $state.raw<Project[]>([]);
  choice = $state<Choice>({ text: "", state: "current", project: null });
  /** Whether sessions stand below their projects. */
  group = $state(true);
  route = $state.raw<Route>({ view: "sessions", session: null, project: null });
  /** Whether the daemon has sent the list that is chosen. */
  known = $state(false);
  /** Whether the stream of all sessions is there. */
  status = $state<"live" | "connecting" | "gone">("connecting");
  cursor = $state<string | null>(null);
  lastSession: string | null = null;
  /** Called when other projects are loaded, or trusted, than before. */
  onProjects: () => void = () => {};
  #now = $state(0);
  #all = $state.raw<Session[]>([]);
  #wasLive = false;
  #turn = 0;
  /** What has become known while the list was being read: the list may be older. */
  #news: (() => void)[] = [];
  #reads = 0;
  #asked = new Map<string, number>();
  #hooks: Hooks;
  #reload: () => void;

  constructor(hooks: Hooks) {
    this.#hooks = hooks;
    const { group, project } = keptObject<Kept>("list.choice", { group: true, project: null });
    this.group = group !== false;
    this.choice.project = typeof project === "string" ? project : null;
    this.#reload = later(() => this.refresh().catch(hooks.onError));
  }

  /** The sessions of the choice, the newest first. The one that is open stays in a list that is not searched. */
  get shown(): Session[] {
    const open = this.route.session;
    return this.#all.filter((one) => belongs(one, this.choice) || (one.id === open && !this.isFiltered && this.#inProject(one)));
  }

  /** Whether the list has the sessions that ask, whatever is chosen. */
  get #isEverything(): boolean {
    return !this.isFiltered && this.choice.project === null;
  }

  get isFiltered(): boolean {
    return this.choice.text !== "" || this.choice.state !== "current";
  }

  /** Changes each minute, so that times are drawn again. */
  get now(): number {
    return this.#now;
  }

  async start(): Promise<void> {
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

  #follow(): void {
    setInterval(() => (this.#now += 1), TICK);
    // Projects have no stream of their own: a return to the page reads them again.
    addEventListener("focus", this.#reload);
    new Stream(socketAddress("/ws"), {
      onFrame: (frame) => this.#take(frame),
      onStatus: (status) => {
        this.status = status;
        // What happened while nobody listened is in the list, not in the stream.
        if (status === "live" && this.#wasLive) {
          this.#reload();
          this.#hooks.onAgain();
        }
        this.#wasLive ||= status === "live";
      },
      onGone: (code, reason) => this.#hooks.onError({ code, message: goneWords(code, reason) }),
    });
  }

  async refresh(): Promise<void> {
    const turn = ++this.#turn;
    const since = this.#news.length;
    const [projects, page, asking] = await this.#list();
    if (turn !== this.#turn) return;
    const before = facts(this.projects);
    this.projects = projects;
    this.cursor = page.next_cursor;
    this.#all = [];
    this.known = true;
    this.#put(...page.items, ...(asking?.items ?? []));
    this.#news.slice(since).forEach((again) => again());
    this.#changed();
    if (facts(this.projects) !== before) this.onProjects();
    const open = this.route.session;
    if (open && !this.find(open)) void this.#read(open, { list: true });
  }

  async #list(): Promise<[Project[], Page<Session>, Page<Session> | null]> {
    const limit = Math.min(Math.max(this.shown.length, PAGE), MOST);
    this.#reads += 1;
    try {
      return await Promise.all([
        allItems<Project>("/projects"),
        request<Page<Session>>("GET", address("/sessions", { ...asked(this.choice), limit })),
        this.#isEverything ? null : request<Page<Session>>("GET", address("/sessions", { asks: true, limit: MOST })),
      ]);
    } finally {
      this.#reads -= 1;
    }
  }

  /** Do what has become known, and once more when a list comes that was asked for before. */
  #learn(what: () => void): void {
    if (this.#reads) this.#news.push(what);
    else this.#news = [];
    what();
  }

  fail(error: unknown): void {
    this.#hooks.onError(error as Trouble);
  }

  /** Show other sessions. */
  async choose(values: Partial<Choice>): Promise<void> {
    Object.assign(this.choice, values);
    this.#remember();
    this.known = false;
    try {
      await this.refresh();
    } catch (error) {
      this.#hooks.onError(error as Trouble);
    }
  }

  regroup(group: boolean): void {
    this.group = group;
    this.#remember();
  }

  async more(): Promise<void> {
    const { cursor } = this;
    if (cursor === null) return;
    const turn = this.#turn;
    try {
      const page = await request<Page<Session>>("GET", address("/sessions", { ...asked(this.choice), limit: PAGE, cursor }));
      if (turn !== this.#turn || cursor !== this.cursor) return;
      this.cursor = page.next_cursor;
      this.#put(...page.items);
    } catch (error) {
      this.#hooks.onError(error as Trouble);
    }
  }

  find(id: string): Session | undefined {
    return this.#all.find((one) => one.id === id);
  }

  projectName(id: string): string {
    return this.projects.find((one) => one.id === id)?.slug ?? "";
  }

  /** Return the project of what was open last: of a page outside the sessions, or of a session. */
  projectOf(route: Route, session: { detail: { project_id: string } | null } | null): string | null {
    return route.project ?? session?.detail?.project_id ?? this.choice.project;
  }

  /** Show what this route opens as open. */
  select(route: Route): void {
    this.route = route;
    const id = route.session ?? null;
    if (route.view === "sessions") this.lastSession = id;
    this.#changed();
    if (id && !this.find(id)) void this.#read(id, { list: true });
  }

  async create(projectId: string): Promise<void> {
    try {
      const session: Session = await create("/sessions", { project_id: projectId });
      this.#learn(() => this.#put(session));
      if (!belongs(session, this.choice)) void this.choose({ text: "", state: "current", project: this.#inProject(session) ? this.choice.project : null });
      this.#hooks.onOpen(session.id);
    } catch (error) {
      this.#hooks.onError(error as Trouble);
    }
  }

  /** The session changed; `values` are what is known of it now. */
  update(id: string, values: Partial<Session>): void {
    this.#learn(() => {
      if (!this.find(id)) return;
      this.#all = this.#all.map((one) => (one.id === id ? { ...one, ...values } : one));
      this.#changed();
    });
  }

  remove(id: string): void {
    if (this.lastSession === id) this.lastSession = null;
    this.#learn(() => {
      this.#all = this.#all.filter((one) => one.id !== id);
      this.#changed();
    });
  }

  #inProject(session: Session): boolean {
    return this.choice.project === null || session.project_id === this.choice.project;
  }

  #remember(): void {
    keep("list.choice", JSON.stringify({ group: this.group, project: this.choice.project }));
  }

  #take(frame: Frame): void {
    const { type, session_id: id, agent_path: agentPath } = frame;
    const payload = frame.payload as Payload;
    this.#hooks.onFrame(frame);
    if (type.startsWith("permission.") || type.startsWith("interaction.")) void this.#read(id);
    if (type === "run.ended" && agentPath === "primary") {
      const { run_id: run, state, reason } = payload;
      this.update(id, { last_run: { id: run, state: state as Run["state"], reason }, updated_at: frame.ts });
    }
    if (!type.startsWith("session.") && type !== "run.started") return;
    if (!this.find(id)) void this.#read(id, { list: true });
    else if (type === "session.state") {
      this.update(id, { state: payload.state as Session["state"], state_reason: payload.reason });
      // How its run ended is not in the frame.
      if (payload.state !== "running") void this.#read(id);
    }
    else if (type === "session.updated") this.update(id, { title: payload.title, seen_run_id: payload.seen_run_id });
  }

  /** Read how a session is now: its questions, its last run. Of several answers the newest counts. */
  async #read(id: string, { list } = { list: false }): Promise<void> {
    const turn = (this.#asked.get(id) ?? 0) + 1;
    this.#asked.set(id, turn);
    try {
      const session = await request<Schemas["SessionDetail"]>("GET", `/sessions/${encodeURIComponent(id)}`);
      if (list) this.#learn(() => this.#put(session));
      const { state, state_reason, title, updated_at, last_run, pending_interactions } = session;
      if (turn === this.#asked.get(id)) this.update(id, { state, state_reason, title, updated_at, last_run, pending_interactions });
    } catch {
      // Gone meanwhile, or the list is read again once the daemon answers.
    }
  }

  #put(...sessions: Session[]): void {
    const all = new Map([...sessions, ...this.#all].map((one) => [one.id, one]));
    if (all.size === this.#all.length) return;
    this.#all = [...all.values()].sort((one, other) => (one.id < other.id ? 1 : -1));
    this.#changed();
  }

  /** What depends on the sessions outside of the list. */
  #changed(): void {
    const { project, view } = this.route;
    rail.view = view;
    rail.addresses.sessions = to.session(this.lastSession);
    rail.addresses.issues = project ? to.issues(project) : "#issues";
    rail.addresses.workflows = project ? to.workflows(project) : "#workflows";
  }
}
