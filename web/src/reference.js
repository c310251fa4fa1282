// The reference of the interface: shows the OpenAPI document of this daemon. Everything in it is set as text.

import { API, BASE_PATH } from "./address.ts";
import { byId, findById, h, replace } from "./dom.ts";
import { schemaOf, typeOf } from "./reference_schema.js";
import { exampleOf, prose, resolved } from "./reference_parts.js";

const DOCUMENT = `${API}/openapi.json`;
const METHODS = ["get", "post", "put", "patch", "delete"];
let api = null;

async function start() {
  const main = byId("operations");
  try {
    const answer = await fetch(DOCUMENT);
    if (!answer.ok) throw new Error(`the daemon answered ${answer.status}`);
    api = await answer.json();
  } catch (problem) {
    replace(main, h("p", { role: "alert" }, `The document could not be loaded: ${problem.message}. Reload the page to try again.`));
    main.removeAttribute("aria-busy");
    return;
  }
  replace(main, h("p", {}, prose(api.info.description)), api.tags.map(groupOf));
  replace(byId("groups"), api.tags.map((tag) => h("li", {}, h("a", { href: `#${anchorOf(tag)}` }, tag.name))));
  main.removeAttribute("aria-busy");
  byId("search").addEventListener("input", search);
  addEventListener("hashchange", follow);
  search();
  follow();
}

const anchorOf = (tag) => `group-${tag.name.toLowerCase().replaceAll(" ", "-")}`;

function operationsOf(tag) {
  return Object.entries(api.paths).flatMap(([path, methods]) =>
    METHODS.filter((method) => methods[method]?.tags.includes(tag.name)).map((method) => ({ path, method, about: methods[method] })));
}

function groupOf(tag) {
  const heading = h("h2", { id: `${anchorOf(tag)}-name` }, tag.name);
  return h("section", { id: anchorOf(tag), "aria-labelledby": heading.id }, heading, h("p", { class: "quiet" }, prose(tag.description)), operationsOf(tag).map(operationOf));
}

function operationOf({ path, method, about }) {
  const words = `${about.operationId} ${method} ${path} ${about.summary} ${about.tags.join(" ")}`.toLowerCase();
  const summary = h("summary", {}, h("span", { class: "method", data: { method } }, method.toUpperCase()), h("code", {}, path), h("h3", {}, about.summary));
  const details = h("details", { class: "operation", id: about.operationId, data: { words } }, summary);
  // Hundreds of schemas are not drawn before somebody asks for one.
  details.addEventListener("toggle", () => details.open && details.children.length === 1 && details.append(bodyOf(path, method, about)));
  return details;
}

function bodyOf(path, method, about) {
  return h("div", {},
    about.description ? h("p", {}, prose(about.description)) : null,
    h("p", { class: "quiet" }, h("a", { href: `#${about.operationId}` }, about.operationId), about.security.length ? " · needs a token" : " · needs no token"),
    parametersOf(about.parameters ?? []),
    requestOf(about.requestBody, about.operationId),
    h("h4", {}, "Call"), code(curlOf(path, method, about), `curl for ${about.operationId}`),
    h("h4", {}, "Answers"), Object.entries(about.responses).map(([status, answer]) => answerOf(status, answer, about.operationId)));
}

function parametersOf(parameters) {
  if (parameters.length === 0) return null;
  const rows = parameters.map((one) =>
    h("li", {}, h("code", {}, one.name), h("span", { class: "quiet" }, ` ${typeOf(one.schema)} · in ${one.in}${one.required ? " · required" : ""}`), one.description ? h("div", {}, prose(one.description)) : null));
  return [h("h4", {}, "Parameters"), h("ul", { class: "fields" }, rows)];
}

function requestOf(body, operation) {
  if (!body) return null;
  return [h("h4", {}, "Body"), body.description ? h("p", {}, prose(body.description)) : null, contentOf(body.content, `body of ${operation}`)];
}

function answerOf(status, answer, operation) {
  const about = resolved(api, answer);
  const details = h("details", { class: "answer-of", open: status.startsWith("2") }, h("summary", {}, h("code", {}, status), " ", prose(about.description)));
  details.append(h("div", {}, contentOf(about.content ?? {}, `answer ${status} of ${operation}`)));
  return details;
}

function contentOf(content, what) {
  return Object.entries(content).map(([type, media]) => {
    const example = exampleOf(api, media);
    return [
      h("p", { class: "quiet" }, type),
      media.schema ? schemaOf(api, media.schema) : null,
      example === undefined ? null : code(typeof example === "string" ? example : JSON.stringify(example, null, 2), `Example of the ${what}`),
    ];
  });
}

function code(text, label) {
  return h("pre", { tabIndex: 0, role: "group", "aria-label": label }, h("code", {}, text));
}

function curlOf(path, method, about) {
  const lines = [`curl -s${method === "get" ? "" : ` -X ${method.toUpperCase()}`} "${location.origin}${BASE_PATH}${path}"`];
  if (about.security.length) lines.push('-H "Authorization: Bearer $TOKEN"');
  const media = about.requestBody?.content["application/json"];
  if (media) lines.push('-H "Content-Type: application/json"', `-d '${JSON.stringify(exampleOf(api, media)).replaceAll("'", "'\\''")}'`);
  else if (about.requestBody) lines.push("--data-binary @FILE");
  return lines.join(" \\\n  ");
}

function search() {
  const words = byId("search").value.toLowerCase().split(" ").filter(Boolean);
  let found = 0;
  for (const operation of document.querySelectorAll(".operation")) {
    operation.hidden = !words.every((word) => operation.dataset.words.includes(word));
    found += operation.hidden ? 0 : 1;
  }
  for (const group of document.querySelectorAll("main > section")) group.hidden = !group.querySelector(".operation:not([hidden])");
  byId("found").textContent = found === 1 ? "1 operation" : `${found} operations`;
}

/** Open the operation that the address names. */
function follow() {
  const target = location.hash.length > 1 ? findById(location.hash.slice(1)) : null;
  if (!target) return;
  if (target.tagName === "DETAILS") {
    if (target.hidden) { byId("search").value = ""; search(); }
    target.open = true;
    target.querySelector("summary").focus({ preventScroll: true });
  }
  target.scrollIntoView();
}

start();
