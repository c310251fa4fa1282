// Has js-debug speak with the programs that it debugs by ports of the loopback. It does so by sockets in the
// file system, which a cage does not allow. Node runs this file before js-debug, and before its programs
// (--require in NODE_OPTIONS): a port is known by a file that stands where the socket would.

const childProcess = require("node:child_process");
const { readFileSync, unlinkSync, writeFileSync } = require("node:fs");
const net = require("node:net");

const PIPE = /[\\/]node-cdp\.[\w-]+\.sock$/;
const LOOPBACK = "127.0.0.1";
const SELF = `--require ${JSON.stringify(__filename)} `;

const isPipe = (value) => typeof value === "string" && PIPE.test(value);

const { listen } = net.Server.prototype;
net.Server.prototype.listen = function (path, ...rest) {
  if (!isPipe(path)) return listen.call(this, path, ...rest);
  const listening = rest.find((one) => typeof one === "function");
  this.on("connection", (socket) => socket.setNoDelay());
  this.once("close", () => {
    try {
      unlinkSync(path);
    } catch {
      // It is gone already.
    }
  });
  return listen.call(this, { host: LOOPBACK, port: 0 }, () => {
    writeFileSync(path, String(this.address().port), { mode: 0o600 });
    listening?.();
  });
};

const { connect } = net.Socket.prototype;
net.Socket.prototype.connect = function (...given) {
  const [first] = given;
  const options = Array.isArray(first) ? first[0] : first;
  if (isPipe(options?.path)) {
    options.port = Number(readFileSync(options.path, "utf8"));
    options.host = LOOPBACK;
    options.noDelay = true;
    delete options.path;
  }
  return connect.apply(this, given);
};

// js-debug chooses the environment of what it starts, and so do its helpers.
const passedOn = (env) => {
  const belongs = env?.NODE_INSPECTOR_IPC || env?.NODE_INSPECTOR_INFO || env?.VSCODE_INSPECTOR_OPTIONS;
  if (!belongs || env.NODE_OPTIONS?.startsWith(SELF)) return env;
  return { ...env, NODE_OPTIONS: SELF + (env.NODE_OPTIONS ?? "").replaceAll(SELF.trim(), "") };
};
for (const name of ["spawn", "spawnSync"]) {
  const start = childProcess[name];
  childProcess[name] = (...given) => {
    const options = given.at(-1);
    if (options && typeof options === "object" && !Array.isArray(options)) {
      given[given.length - 1] = { ...options, env: passedOn(options.env) };
    }
    return start(...given);
  };
}
