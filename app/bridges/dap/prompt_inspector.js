// Has Node's inspector send each message at once. It writes the parts of an answer one by one with Nagle's
// algorithm on, so that the second one waits until the first is acknowledged, and Linux puts that off for 40 ms:
// an exception that nobody stops at takes 90 ms instead of 5. Node runs this file before the program (--require
// in NODE_OPTIONS), when js-debug is connected. No part of Node sets an option of a socket that it has not made
// itself, and so a child process does, to which the inspector's connection is handed. The program goes on
// meanwhile, and does not wait for it at its end.

const { isMainThread } = require("node:worker_threads");

const ESTABLISHED = "01";
const SET = "new (require('node:net').Socket)({ fd: 0 }).setNoDelay(true); process.exit()";

const lines = (file, readFileSync) => {
  try {
    return readFileSync(file, "latin1").split("\n").slice(1);
  } catch {
    return []; // as where there is no IPv6
  }
};

const connections = (port) => {
  const { readdirSync, readFileSync, readlinkSync } = require("node:fs");
  const ending = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  const sockets = new Set();
  for (const file of ["/proc/self/net/tcp", "/proc/self/net/tcp6"]) {
    for (const line of lines(file, readFileSync)) {
      const [, local, , state, , , , , , inode] = line.trim().split(/\s+/);
      if (state === ESTABLISHED && local.endsWith(ending)) sockets.add(`socket:[${inode}]`);
    }
  }
  return readdirSync("/proc/self/fd").filter((fd) => {
    try {
      return sockets.has(readlinkSync(`/proc/self/fd/${fd}`));
    } catch {
      return false; // that of the listing itself
    }
  });
};

const prompt = () => {
  const url = require("node:inspector").url();
  if (url === undefined) return;
  for (const fd of connections(Number(new URL(url).port))) {
    const stdio = [Number(fd), "ignore", "ignore"];
    const { KAGED_COMMAND } = process.env; // by which it is known as the debugger's
    const env = KAGED_COMMAND === undefined ? {} : { KAGED_COMMAND };
    const child = require("node:child_process").spawn(process.execPath, ["-e", SET], { env, stdio });
    child.on("error", () => {});
    child.unref();
  }
};

try {
  if (process.platform === "linux" && isMainThread) prompt();
} catch {
  // The program is debugged all the same, only slower.
}
