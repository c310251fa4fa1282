// Parts of an OpenAPI document by their references, and its texts.

import { h, type Child } from "../dom.ts";

/** What may stand in place of a part: where it is in the document. */
export interface Reference {
  $ref?: string;
}

/** A schema, as far as the page shows it. */
export interface Schema extends Reference {
  type?: string;
  format?: string;
  description?: string;
  const?: unknown;
  enum?: unknown[];
  anyOf?: Schema[];
  oneOf?: Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
  additionalProperties?: Schema | boolean;
  required?: string[];
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
}

interface Example extends Reference {
  value?: unknown;
}

/** A body or an answer of one media type. */
export interface Media {
  schema?: Schema;
  example?: unknown;
  examples?: Record<string, Example>;
}

export type Content = Record<string, Media>;

export interface Answer extends Reference {
  description: string;
  content?: Content;
}

export interface Operation {
  operationId: string;
  summary: string;
  description?: string;
  tags: string[];
  security: object[];
  parameters?: { name: string; in: string; required?: boolean; description?: string; schema?: Schema }[];
  requestBody?: { description?: string; content: Content };
  responses: Record<string, Answer>;
}

export const METHODS = ["get", "post", "put", "patch", "delete"] as const;
export type Method = (typeof METHODS)[number];

export interface Tag {
  name: string;
  description: string;
}

/** The document of a daemon: it describes everything that is shown. */
export interface OpenApi {
  info: { description: string };
  tags: Tag[];
  paths: Record<string, Partial<Record<Method, Operation>>>;
}

/** Return what a part refers to, or the part itself. */
export function resolved<Part extends Reference>(api: OpenApi, part: Part): Part {
  let found = part;
  while (found.$ref?.startsWith("#/")) found = at(api, found.$ref) as Part;
  return found;
}

/** Return what is at this place in the document, something without content when there is nothing. */
function at(api: OpenApi, reference: string): unknown {
  const steps = reference.slice(2).split("/");
  return steps.reduce<unknown>((value, step) => (value as Record<string, unknown> | undefined)?.[step], api) ?? {};
}

/** Return the first example of a body or an answer; undefined without one. */
export function exampleOf(api: OpenApi, media: Media): unknown {
  if ("example" in media) return media.example;
  const [first] = Object.values(media.examples ?? {});
  return first ? resolved(api, first).value : undefined;
}

/** Return a text whose words in backquotes are code. */
export function prose(text: string): Child {
  return text.split("`").map((part, index) => (index % 2 ? h("code", {}, part) : part));
}
