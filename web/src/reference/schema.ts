// Schemas as nested lists of fields. What a field holds is drawn when it is opened, so schemas may contain themselves.

import { h, type Child } from "../dom.ts";
import { prose, resolved, type OpenApi, type Schema } from "./parts.ts";

const LIMITS = ["minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems"] as const;

/** Return the type of a schema in a few words. */
export function typeOf(schema: Schema = {}): string {
  if (schema.$ref) return schema.$ref.split("/").at(-1) ?? "";
  const options = schema.anyOf ?? schema.oneOf;
  if (options) return options.map((option) => typeOf(option)).join(" or ");
  if ("const" in schema) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((one) => JSON.stringify(one)).join(", ");
  if (schema.type === "array") return `list of ${typeOf(schema.items)}`;
  const limits = LIMITS.filter((name) => name in schema).map((name) => `${name} ${schema[name]}`);
  return [schema.format ? `${schema.type} (${schema.format})` : (schema.type ?? "anything"), ...limits].join(", ");
}

/** Return the fields of a schema, or its type where it has none. */
export function schemaOf(api: OpenApi, schema: Schema): Child {
  const models = modelsIn(schema).map((one) => resolved(api, one)).filter(hasFields);
  if (models.length === 0) return h("p", {}, typeOf(schema));
  return models.map((model) => [
    model.description ? h("p", {}, prose(model.description)) : null,
    h("ul", { class: "fields" }, Object.entries(model.properties).map(([name, about]) => fieldOf(api, name, about, model.required ?? []))),
  ]);
}

function fieldOf(api: OpenApi, name: string, about: Schema, required: string[]): HTMLElement {
  const words = [h("code", {}, name), h("span", { class: "quiet" }, ` ${typeOf(about)}${required.includes(name) ? " · required" : ""}`)];
  const description = about.description ? h("div", {}, prose(about.description)) : null;
  if (!modelsIn(about).some((one) => hasFields(resolved(api, one)))) return h("li", {}, words, description);
  const details = h("details", {}, h("summary", {}, words));
  details.addEventListener("toggle", () => details.open && details.children.length === 1 && details.append(h("div", {}, schemaOf(api, about))));
  return h("li", {}, details, description);
}

function hasFields(schema: Schema): schema is Schema & { properties: Record<string, Schema> } {
  return Boolean(schema.properties);
}

/** Return the schemas with fields that a schema consists of. */
function modelsIn(schema: Schema): Schema[] {
  if (schema.$ref || schema.properties) return [schema];
  const parts = schema.anyOf ?? schema.oneOf ?? [schema.items, schema.additionalProperties];
  return parts.filter((one): one is Schema => Boolean(one) && typeof one === "object").flatMap(modelsIn);
}
