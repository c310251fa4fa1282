// Usage: node create.mjs PACKAGE URL TOKEN PROJECT SECONDS; creates a session and prints it, or all of the error.

import { inspect } from "node:util";

const [address, baseUrl, token, project_id, seconds] = process.argv.slice(2);
const { createKaged } = await import(address);
const kaged = createKaged({ baseUrl, token, retrySeconds: Number(seconds) });
try {
  console.log(JSON.stringify(await kaged.post("/api/v1/sessions", { body: { project_id } })));
} catch (error) {
  console.log(JSON.stringify({ name: error.name, all: inspect(error, { depth: 9, showHidden: true }) }));
}
