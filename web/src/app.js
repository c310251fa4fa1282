// The page: which view is open, and how the parts of the page are wired.

import { prefixProblem } from "./address.ts";
import { request } from "./api.ts";
import { byId, h, replace } from "./dom.ts";
import { countAgain, follow, showTitle } from "./inbox/count.ts";
import { lazily } from "./lazy.ts";
import { clearNotices, forget, tell } from "./notices.ts";
import { routeOf, to } from "./routes.ts";
import { SessionView } from "./session_view.js";
import { Panels, wasOpen } from "./shell/panels.ts";
import { Sessions } from "./shell/sessions.svelte.ts";
import { buildShell } from "./shell/shell.ts";

/** What is made for an address outside the sessions, fetched when it is asked for. Each has `open()`, `frame(frame)`, `again()` after the
 * connection was away, and `close()`. */
const PAGES = {
  inbox: async () => (await import("./inbox/inbox_page.ts")).InboxPage,
  issues: async () => (await import("./issue_views.js")).IssueList,
  filing: async () => (await import("./issue_views.js")).IssueFiling,
  issue: async () => (await import("./issue_views.js")).IssuePage,
  workflows: async () => (await import("./workflow_views.js")).WorkflowList,
  workflow: async () => (await import("./workflow_views.js")).WorkflowPage,
  run: async () => (await import("./workflow_views.js")).WorkflowRunPage,
  trust: async () => (await import("./settings/trust_page.ts")).TrustPage,
  settings: async () => (await import("./settings/settings_page.ts")).SettingsPage,
};

/** The pages that are of no project, or name theirs by something else. */
const OF_NO_PROJECT = new Set(["inbox", "run", "settings"]);

const view = byId("view");
/** The scroll position of each address, for when it is opened again. */
const scrolled = new Map();
let route = routeOf("");
let hash = "";
let opened = null;
/** Whether loading the open page failed. */
let broken = false;

const sidebar = new Sessions({
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
const page = { title, failed, sidebar, root: view };
const sessions = new SessionView(page);
const panels = new Panels((open) => sessions.details.toggle(open));

function failed(error) {
  if (error.status === 401) signedOut();
  // Where a proxy lets only the page through, signing in again would lead back here.
  else if (error.code === 4401) request("GET", "/projects?limit=1").then(() => tell(error), failed);
  else tell(error);
}

function signedOut() {
  sessions.close();
  // The daemon answers with the page that says how to sign in.
  location.reload();
}

async function openAddress() {
  const next = routeOf(location.hash);
  if (next.session && route.view === "sessions" && next.session === sessions.session?.id) {
    hash = location.hash;
    route = next;
    openPlace();
    return;
  }
  if (opened) scrolled.set(hash, view.scrollTop);
  const key = view.contains(document.activeElement) ? document.activeElement.dataset.key : null;
  hash = location.hash;
  route = completed(routeOf(hash));
  opened?.close();
  opened = null;
  broken = false;
  clearNotices();
  panels.closeOver(["sidebar"]);
  sidebar.select(route);
  const inSessions = route.view === "sessions";
  // The start has nothing for the panel of a session.
  byId("page").dataset.view = inSessions && !route.session ? "start" : route.view;
  byId("session-view").hidden = !inSessions;
  view.hidden = inSessions;
  replace(view);
  if (inSessions) {
    openPlace();
    await sessions.open(route.session);
    return;
  }
  sessions.close();
  await openPage(key);
}

/** Show what the address names beside the conversation. */
function openPlace() {
  sessions.details.go(route.place);
  if (route.place) panels.show("details", true);
}

/** Return the route with a project: the one that was looked at last, else the first. */
function completed(found) {
  if (found.view === "sessions" || OF_NO_PROJECT.has(found.page) || found.project) return found;
  const project = sidebar.projectOf(route, sessions.session) ?? sidebar.projects[0]?.id ?? null;
  return { ...found, project };
}

/** What the address names is not there: say so in its place, with the way to those that are. */
function showMissing({ message }) {
  const all = document.querySelector("#views [aria-current]");
  replace(view, h("div", { class: "welcome" }, h("h2", {}, "Not found"), h("p", { role: "alert" }, message), h("a", { class: "button", href: all.hash }, `Go to ${all.textContent}`)));
}

/** `key` names the control that had the focus: one with the same key gets it again. */
async function openPage(key) {
  if (route.project === null && !OF_NO_PROJECT.has(route.page)) {
    title("kaged");
    replace(view, h("div", { class: "welcome" }, h("h2", {}, "No project is loaded yet"), h("p", {}, "Open a folder with a project to begin.")));
    return;
  }
  const asked = route;
  view.setAttribute("aria-busy", "true");
  try {
    const View = await lazily(PAGES[asked.page]);
    if (asked !== route) return;
    opened = new View(page, asked);
    await opened.open();
  } catch (error) {
    if (asked === route) {
      broken = true;
      if (error.status === 404) showMissing(error);
      else failed(error);
    }
  }
  if (asked !== route) return;
  view.removeAttribute("aria-busy");
  view.scrollTop = scrolled.get(hash) ?? 0;
  // Whoever followed a link that is gone now goes on where it led.
  const again = key ? view.querySelector(`[data-key="${CSS.escape(key)}"]`) : null;
  if (document.activeElement === document.body) (again ?? view).focus({ preventScroll: true });
}

function title(text) {
  byId("title").textContent = text;
  showTitle(text);
}

function wire() {
  buildShell(sidebar, panels, failed);
  byId("skip").addEventListener("click", () => (view.hidden ? byId("message") : view).focus());
  addEventListener("hashchange", openAddress);
  addEventListener("focus", countAgain);
}

async function start() {
  const problem = prefixProblem();
  if (problem) {
    tell({ code: "base_path", message: problem });
    return;
  }
  wire();
  try {
    const [versions] = await Promise.all([request("GET", "/versions"), sidebar.start()]);
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
