// A plugin of the build for xterm.js, which writes style elements and style attributes: the page's policy refuses both.
// Its style elements become adopted style sheets, its attributes properties. Another release of it, with other places
// of that kind, fails the build.

import { fileURLToPath } from "node:url";
import type { Plugin } from "vite";

const FILE = /@xterm\/xterm\/lib\/xterm\.mjs$/;
const ADOPTED = fileURLToPath(new URL("../src/terminal/adopted_styles.ts", import.meta.url));
const REPLACED: { from: RegExp; to: string; times: number }[] = [
  { from: /[\w.]+\.createElement\("style"\)/g, to: "adoptedStyles()", times: 3 },
  { from: /(\w+)\.setAttribute\("style",`\$\{\1\.getAttribute\("style"\)\|\|""\}\$\{(\w+)\};`\)/g, to: "$1.style.cssText+=`${$2};`", times: 1 },
];

export function strictStyles(): Plugin {
  return {
    name: "strict-styles",
    transform(code, id) {
      if (!FILE.test(id)) return null;
      let changed = code;
      for (const { from, to, times } of REPLACED) {
        const found = changed.match(from)?.length ?? 0;
        if (found !== times) this.error(`${from} is in ${id} ${found} times, not ${times} times`);
        changed = changed.replace(from, to);
      }
      if (/createElement\((["'`])style\1\)|setAttribute\((["'`])style\2/.test(changed)) this.error(`${id} writes more styles`);
      return { code: `import { adoptedStyles } from ${JSON.stringify(ADOPTED)};\n${changed}`, map: null };
    },
  };
}
