// Brings js-debug's part into a program that Bun runs. js-debug names it in NODE_OPTIONS, which Bun does not
// heed. Bun runs this file before the program (--preload).

const inspector = require("node:inspector");

// What Bun compiles runs as soon as it is compiled, before js-debug has read where its lines come from, and
// breakpoints would be where they are not. Such a program first imports a module that waits.
const WAIT_MS = 200;
const COMPILED = { ts: "ts", mts: "ts", cts: "ts", tsx: "tsx", jsx: "jsx" };

// Until then js-debug also sets each breakpoint at its source line in the compiled program, and Bun refuses the
// right place for one where another is already. A function that nobody calls takes the wrong ones up: it is
// compiled to more lines than the source has.
const padding = (text) => `function kaged_padding(){${"while(0);".repeat(text.split("\n").length)}}`;

function prepare(program) {
  const loader = COMPILED[program.slice(program.lastIndexOf(".") + 1)];
  if (loader === undefined) return;
  const literally = program.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  Bun.plugin({
    name: "kaged",
    setup(build) {
      build.module("kaged:wait", () => ({
        contents: `await new Promise((done) => setTimeout(done, ${WAIT_MS}));`,
        loader: "js",
      }));
      build.onLoad({ filter: new RegExp(`^${literally}$`) }, async ({ path }) => {
        const text = await Bun.file(path).text();
        const first = text.startsWith("#!") ? text.indexOf("\n") + 1 : 0;
        const before = `import "kaged:wait";${padding(text)}`;
        return { contents: `${text.slice(0, first)}${before}${text.slice(first)}`, loader };
      });
    },
  });
}

const named = /(?:--require|-r)[ =]("(?:[^"\\]|\\.)*"|\S+)/.exec(process.env.NODE_OPTIONS ?? "");
if (named !== null) {
  prepare(Bun.main);
  require(named[1].startsWith('"') ? JSON.parse(named[1]) : named[1]);
  if (inspector.url() === undefined) {
    console.error(`Bun ${Bun.version} cannot be debugged: it has no inspector.open of Node; a newer Bun has`);
    process.exit(1);
  }
}
