// A plugin of the build: beside each text file that gets smaller, the same file as Brotli makes it.

import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { brotliCompressSync, constants } from "node:zlib";
import type { Plugin } from "vite";

const TEXTS = /\.(js|css|svg|webmanifest)$/;

export function compressed(): Plugin {
  let folder = "";
  return {
    name: "compressed",
    apply: "build",
    configResolved(config) {
      folder = resolve(config.root, config.build.outDir, config.build.assetsDir);
    },
    closeBundle() {
      for (const name of readdirSync(folder).filter((each) => TEXTS.test(each))) {
        const plain = readFileSync(join(folder, name));
        const small = brotliCompressSync(plain, { params: { [constants.BROTLI_PARAM_SIZE_HINT]: plain.length } });
        if (small.length < plain.length) writeFileSync(join(folder, `${name}.br`), small);
      }
    },
  };
}
