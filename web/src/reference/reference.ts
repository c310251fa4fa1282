// The reference of the interface: shows the OpenAPI document of this daemon. Everything in it is set as text.

import { API, BASE_PATH } from "../address.ts";
import { byId, findById, h, replace, type Child } from "../dom.ts";
import { exampleOf, METHODS, prose, resolved, type Answer, type Content, type Method, type OpenApi, type Operation, type Tag } from "./parts.ts";
import { schemaOf, typeOf } from "./schema.ts";

const DOCUMENT = `${API}/openapi.json`;
const field = byId("search") as HTMLInputElement;

interface Described {
  path: string;
  method: Method;
  about: Operation;
}

async function start(): Promise<void> {
  const main = byId("operations");
  let api: OpenApi;
  try {
    const answer = await fetch(DOCUMENT);
    if (!answer.ok) throw new Error(`the daemon answered ${answer.status}`);
    api = await answer.json();
  } catch (problem) {
    replace(main, h("p", { role: "alert" }, `The document could not be loaded: ${(problem as Error).message}. Reload the page to try again.`));
    main.removeAttribute("aria-busy");
    return;
  }
  replace(main, h("p", {}, prose(api.info.description)), api.tags.map((tag) => groupOf(api, tag)));
  replace(byId("groups"), api.tags.map((tag) => h("li", {}, h("a", { href: `#${anchorOf(tag)}` }, tag.name))));
  main.removeAttribute("aria-busy");
  field.addEventListener("input", search);
  addEventListener("hashchange", follow);
  search();
  follow();
}

function anchorOf(tag: Tag): string {
  return `group-${tag.name.toLowerCase().replaceAll(" ", "-")}`;
}

function operationsOf(api: OpenApi, tag: Tag): Described[] {
  return Object.entries(api.paths).flatMap(([path, methods]) =>
    METHODS.flatMap((method) => {
      const about = methods[method];
      return about?.tags.includes(tag.name) ? [{ path, method, about }] : [];
    }),
  );
}

function groupOf(api: OpenApi, tag: Tag): HTMLElement {
  const heading = h("h2", { id: `${anchorOf(tag)}-name` }, tag.name);
  const operations = operationsOf(api, tag).map((described) => operationOf(api, described));
  return h("section", { id: anchorOf(tag), "aria-labelledby": heading.id }, heading, h("p", { class: "quiet" }, prose(tag.description)), operations);
}

function operationOf(api: OpenApi, described: Described): HTMLElement {
  const { path, method, about } = described;
  const words = `${about.operationId} ${method} ${path} ${about.summary} ${about.tags.join(" ")}`.toLowerCase();
  const summary = h("summary", {}, h("span", { class: "method", data: { method } }, method.toUpperCase()), h("code", {}, path), h("h3", {}, about.summary));
  const details = h("details", { class: "operation", id: about.operationId, data: { words } }, summary);
  // Hundreds of schemas are not drawn before somebody asks for one.
  details.addEventListener("toggle", () => details.open && details.children.length === 1 && details.append(bodyOf(api, described)));
  return details;
}

function bodyOf(api: OpenApi, described: Described): HTMLElement {
  const { about } = described;
  return h(
    "div",
    {},
    about.description ? h("p", {}, prose(about.description)) : null,
    h("p", { class: "quiet" }, h("a", { href: `#${about.operationId}` }, about.operationId), about.security.length ? " · needs a token" : " · needs no token"),
    parametersOf(about.parameters ?? []),
    requestOf(api, about),
    h("h4", {}, "Call"),
    code(curlOf(api, described), `curl for ${about.operationId}`),
    h("h4", {}, "Answers"),
    Object.entries(about.responses).map(([status, answer]) => answerOf(api, status, answer, about.operationId)),
  );
}

function parametersOf(parameters: NonNullable<Operation["parameters"]>): Child {
  if (parameters.length === 0) return null;
  const rows = parameters.map((one) =>
    h("li", {}, h("code", {}, one.name), h("span", { class: "quiet" }, ` ${typeOf(one.schema)} · in ${one.in}${one.required ? " · required" : ""}`), one.description ? h("div", {}, prose(one.description)) : null),
  );
  return [h("h4", {}, "Parameters"), h("ul", { class: "fields" }, rows)];
}

function requestOf(api: OpenApi, { requestBody: body, operationId: operation }: Operation): Child {
  if (!body) return null;
  return [h("h4", {}, "Body"), body.description ? h("p", {}, prose(body.description)) : null, contentOf(api, body.content, `body of ${operation}`)];
}

function answerOf(api: OpenApi, status: string, answer: Answer, operation: string): HTMLElement {
  const about = resolved(api, answer);
  const details = h("details", { class: "answer-of", open: status.startsWith("2") }, h("summary", {}, h("code", {}, status), " ", prose(about.description)));
  details.append(h("div", {}, contentOf(api, about.content ?? {}, `answer ${status} of ${operation}`)));
  return details;
}

function contentOf(api: OpenApi, content: Content, what: string): Child {
  return Object.entries(content).map(([type, media]) => {
    const example = exampleOf(api, media);
    return [
      h("p", { class: "quiet" }, type),
      media.schema ? schemaOf(api, media.schema) : null,
      example === undefined ? null : code(typeof example === "string" ? example : JSON.stringify(example, null, 2), `Example of the ${what}`),
    ];
  });
}

function code(text: string, label: string): HTMLElement {
  return h("pre", { tabIndex: 0, role: "group", "aria-label": label }, h("code", {}, text));
}

function curlOf(api: OpenApi, { path, method, about }: Described): string {
  const lines = [`curl -s${method === "get" ? "" : ` -X ${method.toUpperCase()}`} "${location.origin}${BASE_PATH}${path}"`];
  if (about.security.length) lines.push('-H "Authorization: Bearer $TOKEN"');
  const media = about.requestBody?.content["application/json"];
  if (media) lines.push('-H "Content-Type: application/json"', `-d '${JSON.stringify(exampleOf(api, media)).replaceAll("'", "'\\''")}'`);
  else if (about.requestBody) lines.push("--data-binary @FILE");
  return lines.join(" \\\n  ");
}

function search(): void {
  const words = field.value.toLowerCase().split(" ").filter(Boolean);
  let found = 0;
  for (const operation of document.querySelectorAll<HTMLElement>(".operation")) {
    operation.hidden = !words.every((word) => operation.dataset.words?.includes(word));
    found += operation.hidden ? 0 : 1;
  }
  for (const group of document.querySelectorAll<HTMLElement>("main > section")) group.hidden = !group.querySelector(".operation:not([hidden])");
  byId("found").textContent = found === 1 ? "1 operation" : `${found} operations`;
}

/** Open the operation that the address names. */
function follow(): void {
  const target = location.hash.length > 1 ? findById(location.hash.slice(1)) : null;
  if (!target) return;
  if (target instanceof HTMLDetailsElement) {
    if (target.hidden) {
      field.value = "";
      search();
    }
    target.open = true;
    target.querySelector("summary")?.focus({ preventScroll: true });
  }
  target.scrollIntoView();
}

start();
