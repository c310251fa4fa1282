// A plugin of the build: the worker of the page, which knows the names of the files that have a digest. It stands beside the
// HTML, because a worker looks after what lies below its own address.

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { transformWithOxc, type Plugin } from "vite";

const SOURCE = "src/service_worker.ts";
const HASHED = /-[a-z0-9]{10}\.(js|css|woff2)$/;

export function serviceWorker(): Plugin {
  let root = "";
  let folder = "";
  let files = "";
  return {
    name: "service-worker",
    apply: "build",
    configResolved(config) {
      root = config.root;
      folder = resolve(config.root, config.build.outDir);
      files = config.build.assetsDir;
    },
    async closeBundle() {
      const names = readdirSync(join(folder, files)).filter((name) => HASHED.test(name)).sort();
      const text = readFileSync(join(root, SOURCE), "utf-8").replace(/^declare const BUILT_FILES.*$/m, `const BUILT_FILES = ${JSON.stringify(names)};`);
      const { code } = await transformWithOxc(text.replace(/^export \{\};$/m, ""), join(root, SOURCE), { sourcemap: false });
      writeFileSync(join(folder, "service_worker.js"), code);
    },
  };
}
