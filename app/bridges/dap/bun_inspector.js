// Brings js-debug's part into a program that Bun runs. js-debug names it in NODE_OPTIONS, which Bun does not
// heed. Bun runs this file before the program (--preload).

const { readFileSync } = require("node:fs");
const inspector = require("node:inspector");

const COMPILED = { ts: "ts", mts: "ts", tsx: "tsx", jsx: "jsx" };

// js-debug sets a breakpoint at the beginning of each file that has breakpoints: there the program waits until
// js-debug has read where the lines of what Bun compiled come from. Bun puts it on the first statement, which
// therefore must be one that is always run.
const FIRST_STATEMENT = "Object.is();";

// Until then js-debug also sets each breakpoint at its source line in the compiled program, and Bun refuses the
// right place for one where another is already. A function that nobody calls takes the wrong ones up: it is
// compiled to more lines than the source has. It is in a class because Bun moves classes before all else.
const padding = (text) => `class kaged_padding{static none(){${"while(0);".repeat(text.split("\n").length)}}}`;

// Bun does not run a CommonJS module that a plugin has loaded: what may be none is made none, and the others
// are left as they are.
const COMMONJS = /\bmodule\s*\.\s*exports\b|\bexports\s*(?:[.[]|=[^=])/;
const ES_MODULE = "export{};";

function prepare(program) {
  const loader = COMPILED[program.slice(program.lastIndexOf(".") + 1)];
  if (loader === undefined || isCommonJs(program, loader)) return;
  const literally = program.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const load = async ({ path }) => {
    const text = await Bun.file(path).text();
    const before = ES_MODULE + padding(text) + FIRST_STATEMENT;
    return { contents: before + text.replace(/^#!.*/, ""), loader };
  };
  Bun.plugin({ name: "kaged", setup: (build) => build.onLoad({ filter: new RegExp(`^${literally}$`) }, load) });
}

function isCommonJs(program, loader) {
  try {
    // Comments, in which anything may be said, are left out.
    return COMMONJS.test(new Bun.Transpiler({ loader }).transformSync(readFileSync(program, "utf8")));
  } catch {
    return false; // Bun will say what is wrong with it.
  }
}

const required = /(?:--require|-r)[ =]("(?:[^"\\]|\\.)*"|\S+)/g;
const named = [...(process.env.NODE_OPTIONS ?? "").matchAll(required)].map((found) => found[1]);
if (named.length > 0) {
  prepare(Bun.main);
  for (const one of named) require(one.startsWith('"') ? JSON.parse(one) : one);
  if (inspector.url() === undefined) {
    console.error(`Bun ${Bun.version} cannot be debugged: it has no inspector.open of Node; a newer Bun has`);
    process.exit(1);
  }
}
