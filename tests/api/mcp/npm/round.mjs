// One round with kaged by an official client for JavaScript: `node round.mjs CLIENT WAY AGENT`, where CLIENT is
// `sdk` (1.x) or `legacy` or `auto` (2.x), and WAY is `http URL TOKEN` or `stdio COMMAND...`. Prints what it saw as JSON.

const [client, way, ...rest] = process.argv.slice(2);
const asked = [];
const progress = [];
const answer = (message) => (asked.push(message), { action: "accept", content: { decision: "allow" } });

async function connected() {
  const info = { name: `round-${client}`, version: "1.0.0" };
  const capabilities = { elicitation: { form: {} } };
  if (client === "sdk") {
    const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
    const { ElicitRequestSchema } = await import("@modelcontextprotocol/sdk/types.js");
    const { StreamableHTTPClientTransport } = await import("@modelcontextprotocol/sdk/client/streamableHttp.js");
    const { StdioClientTransport } = await import("@modelcontextprotocol/sdk/client/stdio.js");
    const made = new Client(info, { capabilities });
    made.setRequestHandler(ElicitRequestSchema, (request) => answer(request.params.message));
    await made.connect(transport(StreamableHTTPClientTransport, StdioClientTransport));
    return made;
  }
  const { Client, StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
  const { StdioClientTransport } = await import("@modelcontextprotocol/client/stdio");
  const made = new Client(info, { capabilities, versionNegotiation: { mode: client } });
  made.setRequestHandler("elicitation/create", (request) => answer(request.params.message));
  await made.connect(transport(StreamableHTTPClientTransport, StdioClientTransport));
  return made;
}

/** A kept connection that the server closes at the very moment of a request has carried nothing of it. */
async function again(...request) {
  try {
    return await fetch(...request);
  } catch (error) {
    if (error.cause?.code !== "UND_ERR_SOCKET") throw error;
    return fetch(...request);
  }
}

function transport(Http, Stdio) {
  if (way === "http") {
    const headers = { authorization: `Bearer ${rest[1]}` };
    return new Http(new URL(rest[0]), { requestInit: { headers }, fetch: again });
  }
  return new Stdio({ command: rest[0], args: rest.slice(1), env: { ...process.env }, stderr: "inherit" });
}

const mcp = await connected();
const { tools } = await mcp.listTools();
const onprogress = ({ message }) => progress.push(message);
const call = (name, args) =>
  client === "sdk" ? mcp.callTool({ name, arguments: args }, undefined, { onprogress }) : mcp.callTool({ name, arguments: args }, { onprogress });
const { session } = (await call("open_session", {})).structuredContent;
const seen = { tools: tools.map((tool) => tool.name), results: {} };
for (const [name, args] of [
  ["file_read", { path: "src/total.py" }],
  ["file_read", { path: "README.md" }],
  ["file_create", { path: "asked/new.txt", content: "hello\n" }],
  ["shell_bash", { command: "echo begun" }],
]) {
  const key = `${name} ${args.path ?? ""}`.trim();
  try {
    const result = await call(name, { ...args, session });
    seen.results[key] = { error: result.isError ?? false, text: result.content.map((one) => one.text).join("") };
  } catch (refusal) {
    // A tool that the agent does not have is an error of the protocol.
    if (refusal.code !== -32602) throw refusal;
    seen.results[key] = { error: true, text: refusal.message };
  }
}
await mcp.close();
console.log(JSON.stringify({ ...seen, asked, progress }));
