// An editor by the official TypeScript library: one session of `kaged acp`, told as lines of JSON.
// Arguments: the library's folder, the project's folder, then the command.
import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";

const [library, folder, ...command] = process.argv.slice(2);
const acp = await import(pathToFileURL(`${library}/dist/v1/stable/acp.js`));

const child = spawn(command[0], command.slice(1), { stdio: ["pipe", "pipe", "inherit"] });
const ended = new Promise((resolve) => child.on("exit", resolve));
const stream = acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout));
const { methods } = acp;
const tell = (what, value) => process.stdout.write(`${JSON.stringify({ what, value })}\n`);
let choice = null;
let editor = null;

const app = acp
  .client({ name: "tests" })
  .onNotification(methods.client.session.update, ({ params }) => tell("update", params.update))
  .onRequest(methods.client.session.requestPermission, async ({ params }) => {
    tell("asked", params);
    if (choice === "cancel") {
      await editor.notify(methods.agent.session.cancel, { sessionId: params.sessionId });
      return { outcome: { outcome: "cancelled" } };
    }
    const option = params.options.find((one) => one.kind === choice);
    return { outcome: { outcome: "selected", optionId: option.optionId } };
  });

await app.connectWith(stream, async (agent) => {
  editor = agent;
  const clientCapabilities = { fs: { readTextFile: false, writeTextFile: false } };
  tell("ready", await agent.request(methods.agent.initialize, { protocolVersion: acp.PROTOCOL_VERSION, clientCapabilities }));
  const prompt = async (sessionId, text) =>
    tell("ended", await agent.request(methods.agent.session.prompt, { sessionId, prompt: [{ type: "text", text }] }));
  const { sessionId } = await agent.request(methods.agent.session.new, { cwd: folder, mcpServers: [] });
  choice = "cancel";
  await prompt(sessionId, "edit it");
  choice = "allow_once";
  await prompt(sessionId, "edit it");
  const option = { sessionId, configId: "model", value: "other" };
  tell("options", await agent.request(methods.agent.session.setConfigOption, option));
  tell("listed", await agent.request(methods.agent.session.list, { cwd: folder }));
  tell("loading", null);
  tell("loaded", await agent.request(methods.agent.session.load, { sessionId, cwd: folder, mcpServers: [] }));
  child.stdin.end();
});
tell("exit", await ended);
