// The page: which session is open, and how the parts of the page know of each other.

import { request } from "/static/api.js";
import { Composer } from "/static/composer.js";
import { Conversation } from "/static/conversation.js";
import { Details } from "/static/details.js";
import { byId, h, replace } from "/static/dom.js";
import { words } from "/static/format.js";
import { History } from "/static/history.js";
import { clearNotices, tell } from "/static/notices.js";
import { Questions } from "/static/questions.js";
import { followScroll } from "/static/scroll.js";
import { OpenSession } from "/static/session.js";
import { Sidebar } from "/static/sidebar.js";

const SUGGESTIONS = ["Explain this project", "Fix the failing test", "Write a missing test"];

const NARROW = matchMedia("(max-width: 60rem)");

let session = null;

const scroll = followScroll(byId("conversation-scroll"), byId("to-end"));
const history = new History({
  path: () => session.path,
  onChanged: () => session?.refresh().catch(failed),
  onFork: (made) => sidebar.refresh().then(() => (location.hash = made.id), failed),
  onError: failed,
});
const conversation = new Conversation(byId("conversation"), byId("waiting"), { onGap: () => session?.reload(), history });
const composer = new Composer({ onError: failed, onSent: scroll.toEnd });
const details = new Details({ onError: failed, onGone: gone });
const questions = new Questions({ onError: failed, onChange: () => session?.detail && showState(session.detail) });
const sidebar = new Sidebar({ onError: failed, onOpen: (id) => (location.hash = id), onSignedOut: signedOut });

function failed(error) {
  if (error.status === 401 || error.code === 4401) signedOut();
  else tell(error);
}

function signedOut() {
  session?.close();
  // The daemon answers with the page that says how to sign in.
  location.reload();
}

async function openSession(id) {
  session?.close();
  session = null;
  clearNotices();
  conversation.clear();
  drawer("sidebar", false);
  sidebar.select(id);
  composer.open(null);
  details.show(null);
  questions.open(null);
  byId("state").hidden = true;
  byId("connection").textContent = "";
  if (!id) {
    title("kaged");
    welcome();
    return;
  }
  const opened = new OpenSession(id, conversation, {
    onDetail: (detail) => opened === session && showDetail(detail),
    onFrame: (frame) => opened === session && showFrame(frame),
    onStatus: showStatus,
    onReload: () => opened === session && questions.refresh().catch(failed),
    onError: failed,
  });
  session = opened;
  byId("conversation").setAttribute("aria-busy", "true");
  try {
    await opened.open();
    if (opened !== session) return;
    await questions.open(opened);
    if (opened !== session) return;
    composer.open(opened);
    showDetail(opened.detail);
    details.show(opened);
    suggestions();
    scroll.toEnd();
    composer.focus();
  } catch (error) {
    if (opened === session) failed(error);
  }
  byId("conversation").removeAttribute("aria-busy");
}

function showDetail(detail) {
  title(detail.title || "New session");
  showState(detail);
  composer.update(detail, session.lastRun);
  sidebar.update(detail.id, { state: detail.state, title: detail.title });
  if (detail.state === "idle") details.draw();
}

function showState(detail) {
  const state = byId("state");
  state.hidden = false;
  state.dataset.state = detail.state;
  state.toggleAttribute("data-asking", questions.count > 0);
  state.textContent = questions.count > 0 ? "asks you" : words(detail.state);
  state.title = detail.state_reason ? words(detail.state_reason) : "";
}

function showFrame(frame) {
  questions.frame(frame);
  if (frame.type === "message.posted") byId("suggestions")?.remove();
  details.frame(frame);
}

function showStatus(status) {
  const element = byId("connection");
  element.dataset.status = status;
  element.textContent = status === "live" ? "live" : "connecting…";
}

function gone(id) {
  sidebar.remove(id);
  if (session?.id === id) location.hash = "";
}

function title(text) {
  byId("title").textContent = text;
  document.title = text === "kaged" ? text : `${text} · kaged`;
}

function welcome() {
  const buttons = sidebar.projects.map((project) =>
    h("button", { type: "button", class: "primary", onclick: () => sidebar.create(project.id) }, `New session in ${project.slug}`),
  );
  const words = buttons.length ? "Choose a session on the left, or begin a new one." : "Load a project on the left to begin.";
  replace(byId("conversation"), h("div", { class: "welcome" }, h("h2", {}, "Nothing is open yet"), h("p", {}, words), buttons));
}

function suggestions() {
  if (!conversation.empty) return;
  const buttons = SUGGESTIONS.map((text) => h("button", { type: "button", onclick: () => composer.suggest(text) }, text));
  byId("conversation").append(
    h("div", { class: "welcome", id: "suggestions" }, h("h2", {}, "What should the agent do?"), h("p", { class: "quiet" }, "For example:"), h("div", { class: "row wrap" }, buttons)),
  );
}

/** Show or hide one of the two panels beside the conversation; on a narrow page they lie over it. */
function drawer(name, open) {
  const button = byId(`open-${name}`);
  const was = button.getAttribute("aria-expanded") === "true";
  button.setAttribute("aria-expanded", String(open));
  byId("page").classList.toggle(`with-${name}`, open);
  if (name === "details") details.toggle(open);
  byId("shade").hidden = !NARROW.matches || !document.querySelector(".bar > [aria-expanded=true]");
  if (open && NARROW.matches) byId(`close-${name}`).focus();
  else if (was && !open) button.focus({ preventScroll: true });
}

function wire() {
  for (const name of ["sidebar", "details"]) {
    byId(`open-${name}`).addEventListener("click", () => drawer(name, byId(`open-${name}`).getAttribute("aria-expanded") !== "true"));
    byId(`close-${name}`).addEventListener("click", () => drawer(name, false));
  }
  const closeAll = () => ["sidebar", "details"].forEach((name) => drawer(name, false));
  byId("shade").addEventListener("click", closeAll);
  NARROW.addEventListener("change", closeAll);
  addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !byId("shade").hidden) closeAll();
  });
  addEventListener("hashchange", () => openSession(location.hash.slice(1)));
}

async function start() {
  wire();
  try {
    const [versions] = await Promise.all([request("GET", "/versions"), sidebar.start()]);
    const { actor } = document.documentElement.dataset;
    byId("version").textContent = actor === "operator" ? versions.kaged : `${versions.kaged} · ${actor}`;
  } catch (error) {
    failed(error);
  }
  if (matchMedia("(min-width: 80rem)").matches) drawer("details", true);
  await openSession(location.hash.slice(1));
}

await start();
