// The trust decision: what a project asks for, and the buttons that allow or revoke it.

import { request } from "./api.js";
import { h, replace } from "./dom.js";

const SAID = {
  untrusted: "This project does not run until you trust it. It asks for:",
  changed: "The trusted version stays active. A newer version asks for more:",
  trusted: "This project is trusted. It is allowed to:",
};
const SIGNS = { added: "+", removed: "−" };
const WORDS = { added: "new", removed: "no longer there" };

export class TrustPage {
  constructor(page, route) {
    this.page = page;
    this.path = `/projects/${encodeURIComponent(route.project)}`;
  }

  async open() {
    this.#draw(await request("GET", this.path));
  }

  close() {}

  async again() {
    try {
      await this.open();
    } catch (error) {
      this.page.failed(error);
    }
  }

  frame() {}

  #draw(project) {
    const { trust } = project;
    this.page.title(project.slug);
    const changed = trust.acts.filter((act) => act.change);
    const rest = trust.acts.filter((act) => !act.change);
    replace(
      this.page.root,
      h("div", { class: "view-head" }, h("h2", {}, `Trust in ${project.slug}`), h("span", { class: "pill", data: { tone: trust.state === "trusted" ? "good" : "waiting" } }, trust.state)),
      h("p", { class: "quiet" }, project.root),
      h("p", {}, SAID[trust.state]),
      changed.length ? list(changed, "Newly requested") : null,
      changed.length && rest.length ? h("details", {}, h("summary", {}, "Already allowed"), list(rest, "Allowed already")) : null,
      changed.length ? null : list(rest, "What it is allowed"),
      this.#buttons(trust),
    );
  }

  #buttons(trust) {
    const grant = (always) => () => this.#decide("POST", { digest: trust.digest, always });
    if (trust.by === "settings") return h("p", { class: "quiet" }, "The daemon's settings trust this project.");
    if (trust.state === "trusted") return h("div", { class: "row" }, h("button", { type: "button", onclick: () => this.#decide("DELETE") }, "Revoke trust"));
    if (!trust.digest) return h("p", { class: "quiet" }, "The project file has errors: there is nothing to trust yet.");
    return h(
      "div",
      { class: "row" },
      h("button", { type: "button", class: "primary", onclick: grant(false) }, "Trust this version"),
      h("button", { type: "button", onclick: grant(true), title: "Trust every later version without asking" }, "Always trust"),
    );
  }

  async #decide(method, body) {
    try {
      this.#draw(await request(method, `${this.path}/trust`, body));
    } catch (error) {
      this.page.failed(error);
      if (error.status === 409) await this.again();
    }
    await this.page.sidebar.refresh();
  }
}

function list(acts, label) {
  return h("ul", { class: "acts", "aria-label": label }, acts.map(row));
}

function row(act) {
  const place = act.file ? `${act.file}${act.line ? `:${act.line}` : ""}` : "";
  return h(
    "li",
    { data: { change: act.change ?? "" } },
    h("span", { class: "act-sign", title: WORDS[act.change] }, SIGNS[act.change] ?? ""),
    h("div", {}, h("strong", {}, act.kind), " ", h("code", {}, act.text), h("div", { class: "quiet" }, [act.where, place, act.digest ? `text ${act.digest.slice(0, 12)}` : ""].filter(Boolean).join(" · "))),
  );
}
