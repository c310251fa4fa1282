// Parts of an OpenAPI document by their references, and its texts.

import { h } from "./dom.ts";

/** Return what a part refers to, or the part itself. */
export function resolved(api, part) {
  let found = part;
  while (found?.$ref?.startsWith("#/")) found = found.$ref.slice(2).split("/").reduce((value, step) => value?.[step], api);
  return found ?? {};
}

/** Return the first example of a body or an answer; undefined without one. */
export function exampleOf(api, media) {
  if ("example" in media) return media.example;
  const [first] = Object.values(media.examples ?? {});
  return first ? resolved(api, first).value : undefined;
}

/** Return a text whose words in backquotes are code. */
export function prose(text) {
  return text.split("`").map((part, index) => (index % 2 ? h("code", {}, part) : part));
}
