// The page: which view is open, and how the parts of the page are wired.

import { prefixProblem } from "./address.js";
import { request } from "./api.js";
import { byId, h, replace } from "./dom.js";
import { buildFrame, keepWorkspace, LIST_OVER, WORKSPACE_OVER, workspaceWasOpen } from "./frame/frame.ts";
import { lazily } from "./lazy.js";
import { clearNotices, forget, tell } from "./notices.js";
import { routeOf, to } from "./routes.js";
import { SessionView } from "./session_view.js";
import { Sidebar } from "./sidebar.js";

/** What is made for an address outside the sessions, fetched when it is asked for. Each has `open()`, `frame(frame)`, `again()` after the
 * connection was away, and `close()`. */
const PAGES = {
  issues: async () => (await import("./issue_views.js")).IssueList,
  filing: async () => (await import("./issue_views.js")).IssueFiling,
  issue: async () => (await import("./issue_views.js")).IssuePage,
  workflows: async () => (await import("./workflow_views.js")).WorkflowList,
  workflow: async () => (await import("./workflow_views.js")).WorkflowPage,
  run: async () => (await import("./workflow_views.js")).WorkflowRunPage,
  trust: async () => (await import("./trust_page.js")).TrustPage,
};

const view = byId("view");
/** The panels beside the middle, and when they lie over it. */
const PANELS = { sidebar: LIST_OVER, details: WORKSPACE_OVER };
/** The scroll position of each address, for when it is opened again. */
const scrolled = new Map();
let route = routeOf("");
let hash = "";
let opened = null;
/** Whether loading the open page failed. */
let broken = false;

const sidebar = new Sidebar({
  onError: failed,
  onOpen: (id) => (location.hash = to.session(id)),
  onFrame: (frame) => opened?.frame(frame),
  onAgain: () => {
    forget("unreachable");
    if (broken) openAddress();
    else (opened ?? sessions).again();
  },
});
const page = { title, failed, sidebar, root: view };
const sessions = new SessionView(page);

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
  if (opened) scrolled.set(hash, view.scrollTop);
  const key = view.contains(document.activeElement) ? document.activeElement.dataset.key : null;
  hash = location.hash;
  route = completed(routeOf(hash));
  opened?.close();
  opened = null;
  broken = false;
  clearNotices();
  drawer("sidebar", false);
  sidebar.select(route);
  const inSessions = route.view === "sessions";
  byId("page").dataset.view = route.view;
  byId("session-view").hidden = !inSessions;
  view.hidden = inSessions;
  replace(view);
  if (inSessions) {
    await sessions.open(route.session);
    return;
  }
  sessions.close();
  await openPage(key);
}

/** Return the route with a project: the one that was looked at last, else the first. */
function completed(found) {
  if (found.view === "sessions" || found.page === "run" || found.project) return found;
  const project = sidebar.projectOf(route, sessions.session) ?? sidebar.projects[0]?.id ?? null;
  return { ...found, project };
}

/** `key` names the control that had the focus: one with the same key gets it again. */
async function openPage(key) {
  if (route.project === null && route.page !== "run") {
    title("kaged");
    replace(view, h("div", { class: "welcome" }, h("h2", {}, "No project is loaded yet"), h("p", {}, "Load a project on the left to begin.")));
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
      failed(error);
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
  document.title = text === "kaged" ? text : `${text} · kaged`;
}

/** Show or hide one of the two panels; where the page is too narrow for it, it lies over the middle. */
function drawer(name, open) {
  const button = byId(`open-${name}`);
  const was = button.getAttribute("aria-expanded") === "true";
  button.setAttribute("aria-expanded", String(open));
  byId("page").classList.toggle(`with-${name}`, open);
  if (name === "details") sessions.details.toggle(open);
  byId("shade").hidden = !Object.keys(PANELS).some((one) => PANELS[one].matches && isOpen(one));
  if (open && PANELS[name].matches) byId(`close-${name}`).focus();
  else if (was && !open) button.focus({ preventScroll: true });
}

function isOpen(name) {
  return byId(`open-${name}`).getAttribute("aria-expanded") === "true";
}

/** A person opens or closes a panel: the browser remembers that. */
function choose(name, open) {
  drawer(name, open);
  if (name === "details") keepWorkspace(open);
}

function wire() {
  buildFrame(byId("page"), byId("sidebar"), byId("details"), byId("appearance"));
  const closeAll = () => Object.keys(PANELS).forEach((name) => PANELS[name].matches && drawer(name, false));
  for (const name of Object.keys(PANELS)) {
    byId(`open-${name}`).addEventListener("click", () => choose(name, !isOpen(name)));
    byId(`close-${name}`).addEventListener("click", () => choose(name, false));
    PANELS[name].addEventListener("change", () => drawer(name, name === "details" && workspaceWasOpen()));
  }
  byId("shade").addEventListener("click", closeAll);
  addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !byId("shade").hidden) closeAll();
  });
  byId("skip").addEventListener("click", () => (view.hidden ? byId("message") : view).focus());
  addEventListener("hashchange", openAddress);
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
  if (workspaceWasOpen()) drawer("details", true);
  await openAddress();
}

await start();
