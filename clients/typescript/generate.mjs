// Writes src/generated from the documents in openapi/.
// `node generate.mjs FOLDER` writes into another folder.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import openapiTS, { astToString } from "openapi-typescript";

const SOURCES = new URL("../../openapi/", import.meta.url);
const HEAD = "// Written by `make clients-typescript`. Do not edit.\n\n";
// A field with a default can be left out of a request.
const OPTIONS = { defaultNonNullable: false };
const METHODS = ["get", "post", "put", "patch", "delete"];

const read = (name) => JSON.parse(readFileSync(new URL(name, SOURCES), "utf8"));
const lines = (values) => values.map((value) => `  ${JSON.stringify(value)},\n`).join("");

/** The types of every route, and the routes that take an idempotency key. */
async function routes() {
  const types = astToString(await openapiTS(new URL("openapi.json", SOURCES), OPTIONS));
  const keyed = Object.entries(read("openapi.json").paths).flatMap(([path, operations]) =>
    METHODS.filter((method) => (operations[method]?.parameters ?? []).some((one) => one.name === "Idempotency-Key")).map(
      (method) => `${method.toUpperCase()} ${path}`,
    ),
  );
  return `${HEAD}${types}\nexport const KEYED: ReadonlySet<string> = new Set([\n${lines(keyed.sort())}]);\n`;
}

/** The types of every frame: the schema's definitions become the components of a document without routes. */
async function events() {
  const text = JSON.stringify(read("events.schema.json")).replaceAll('"#/$defs/', '"#/components/schemas/');
  const { $defs: definitions, oneOf: frames } = JSON.parse(text);
  const schemas = { ...definitions };
  for (const frame of frames) schemas[frame.title] = frame;
  const types = astToString(
    await openapiTS({ openapi: "3.1.0", info: { title: "frames", version: "1" }, paths: {}, components: { schemas } }, OPTIONS),
  );
  const names = frames.filter((frame) => frame.required.includes("seq")).map((frame) => frame.title);
  const types_of = `export const EVENT_TYPES = [\n${lines(names)}] as const;\n`;
  const union = 'export type KnownEvent = components["schemas"][(typeof EVENT_TYPES)[number]];\n';
  return `${HEAD}${types}\n${types_of}\n${union}`;
}

const folder = new URL(`${process.argv[2] ?? "src"}/`, import.meta.url);
mkdirSync(new URL("generated/", folder), { recursive: true });
writeFileSync(new URL("generated/routes.ts", folder), await routes());
writeFileSync(new URL("generated/events.ts", folder), await events());
