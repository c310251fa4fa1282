// The page: which view is open, and how the parts of the page are wired.

import { prefixProblem } from "./address.ts";
import { request, type Schemas } from "./api.ts";
import { byId, findById, h, replace } from "./dom.ts";
import { countAgain, follow, showTitle } from "./inbox/count.ts";
import { lazily } from "./lazy.ts";
import { clearNotices, forget, tell, type Trouble } from "./notices.ts";
import type { Page, View } from "./page.ts";
import { routeOf, to, type Complete, type PageName, type Route } from "./routes.ts";
import { SessionView } from "./session_view.ts";
import { Panels, wasOpen } from "./shell/panels.ts";
import { Sessions } from "./shell/sessions.svelte.ts";
import { buildShell } from "./shell/shell.ts";

type Outside = Exclude<PageName, "session">;

/** What is made for an address outside the sessions, fetched when it is asked for. */
const PAGES: { [Name in Outside]: () => Promise<new (page: Page, route: Complete<Name>) => View> } = {
  inbox: async () => (await import("./inbox/inbox_page.ts")).InboxPage,
  issues: async () => (await import("./issues/issue_views.ts")).IssueList,
  filing: async () => (await import("./issues/issue_views.ts")).IssueFiling,
  issue: async () => (await import("./issues/issue_views.ts")).IssuePage,
  workflows: async () => (await import("./workflows/workflow_views.ts")).WorkflowList,
  workflow: async () => (await import("./workflows/workflow_views.ts")).WorkflowPage,
  run: async () => (await import("./workflows/workflow_views.ts")).WorkflowRunPage,
  trust: async () => (await import("./settings/trust_page.ts")).TrustPage,
  settings: async () => (await import("./settings/settings_page.ts")).SettingsPage,
};

/** The pages that are of no project, or name theirs by something else. */
const OF_NO_PROJECT = new Set<PageName>(["inbox", "run", "settings"]);

const view = byId("view");
/** The scroll position of each address, for when it is opened again. */
const scrolled = new Map<string, number>();
let route = routeOf("");
let hash = "";
let opened: View | null = null;
/** Whether loading the open page failed. */
let broken = false;

const sidebar: Sessions = new Sessions({
  onError: failed,
  onOpen: (id) => (location.hash = to.session(id)),
  onFrame: (frame) => {
    follow(frame, sidebar);
    opened?.frame(frame);
  },
  onAgain: () => {
    forget("unreachable");
    countAgain();
    if (broken) openAddress();
    else (opened ?? sessions).again();
  },
});
const page: Page = { title, failed, sidebar, root: view };
const sessions = new SessionView(page);
const panels = new Panels((open) => sessions.details.toggle(open));

function failed(error: unknown): void {
  const trouble = error as Trouble;
  if (trouble.status === 401) signedOut();
  // Where a proxy lets only the page through, signing in again would lead back here.
  else if (trouble.code === 4401) request("GET", "/projects?limit=1").then(() => tell(trouble), failed);
  else tell(trouble);
}

function signedOut(): void {
  sessions.close();
  // The daemon answers with the page that says how to sign in.
  location.reload();
}

async function openAddress(): Promise<void> {
  const next = routeOf(location.hash);
  if (next.view === "sessions" && next.session && route.view === "sessions" && next.session === sessions.session?.id) {
    hash = location.hash;
    route = next;
    openPlace(next);
    return;
  }
  if (opened) scrolled.set(hash, view.scrollTop);
  const focused = document.activeElement;
  const key = focused instanceof HTMLElement && view.contains(focused) ? focused.dataset.key : null;
  hash = location.hash;
  const asked = completed(routeOf(hash));
  route = asked;
  opened?.close();
  opened = null;
  broken = false;
  clearNotices();
  panels.closeOver(["sidebar"]);
  sidebar.select(route);
  const inSessions = asked.view === "sessions";
  // The start has nothing for the panel of a session.
  byId("page").dataset.view = inSessions && !asked.session ? "start" : asked.view;
  byId("session-view").hidden = !inSessions;
  view.hidden = inSessions;
  replace(view);
  if (inSessions) {
    openPlace(asked);
    await sessions.open(asked.session);
    return;
  }
  sessions.close();
  await openPage(asked, key);
}

/** Show what the address names beside the conversation. */
function openPlace({ place }: Route<"session">): void {
  const closes = sessions.details.go(place);
  if (place) panels.show("details", true);
  else if (closes) panels.closeOver(["details"]);
}

/** A link to the address that is open shows its place again, which may be closed or behind another tab. */
function openAgain(event: MouseEvent): void {
  const link = (event.target as Element).closest?.("a");
  if (link?.hash === location.hash && route.view === "sessions" && route.place) openPlace(route);
}

/** Return the route with a project: the one that was looked at last, else the first. */
function completed(found: Route): Route {
  if (found.view === "sessions" || OF_NO_PROJECT.has(found.page) || found.project) return found;
  const project = sidebar.projectOf(route, sessions.session) ?? sidebar.projects[0]?.id ?? null;
  return { ...found, project } as Route;
}

/** What the address names is not there: say so in its place, with the way to those that are. */
function showMissing({ message }: Trouble): void {
  const all = document.querySelector<HTMLAnchorElement>("#views [aria-current]");
  replace(view, h("div", { class: "welcome" }, h("h2", {}, "Not found"), h("p", { role: "alert" }, message), all && h("a", { class: "button", href: all.hash }, `Go to ${all.textContent}`)));
}

/** `key` names the control that had the focus: one with the same key gets it again. */
async function openPage(asked: Route<Outside>, key: string | null | undefined): Promise<void> {
  if (asked.project === null && !OF_NO_PROJECT.has(asked.page)) {
    title("kaged");
    replace(view, h("div", { class: "welcome" }, h("h2", {}, "No project is loaded yet"), h("p", {}, "Open a folder with a project to begin.")));
    return;
  }
  view.setAttribute("aria-busy", "true");
  try {
    // Each page takes the route of its name.
    const Made = await lazily<new (page: Page, route: never) => View>(PAGES[asked.page]);
    if (asked !== route) return;
    opened = new Made(page, asked as never);
    await opened.open();
  } catch (error) {
    if (asked === route) {
      broken = true;
      if ((error as Trouble).status === 404) showMissing(error as Trouble);
      else failed(error);
    }
  }
  if (asked !== route) return;
  view.removeAttribute("aria-busy");
  view.scrollTop = scrolled.get(hash) ?? 0;
  // Whoever followed a link that is gone now goes on where it led.
  const again = key ? view.querySelector<HTMLElement>(`[data-key="${CSS.escape(key)}"]`) : null;
  if (document.activeElement === document.body) (again ?? view).focus({ preventScroll: true });
}

function title(text: string): void {
  byId("title").textContent = text;
  showTitle(text);
}

function wire(): void {
  buildShell(sidebar, panels, failed);
  byId("skip").addEventListener("click", () => (view.hidden ? findById("message") : view)?.focus());
  addEventListener("hashchange", openAddress);
  document.addEventListener("click", openAgain);
  addEventListener("focus", countAgain);
}

async function start(): Promise<void> {
  const problem = prefixProblem();
  if (problem) {
    tell({ code: "base_path", message: problem });
    return;
  }
  wire();
  try {
    const [versions] = await Promise.all([request<Schemas["Versions"]>("GET", "/versions"), sidebar.start()]);
    const { actor } = document.documentElement.dataset;
    byId("version").textContent = actor === "operator" ? versions.kaged : `${versions.kaged} · ${actor}`;
  } catch (error) {
    failed(error);
  }
  if (wasOpen("details")) panels.show("details", true);
  countAgain();
  await openAddress();
}

await start();
