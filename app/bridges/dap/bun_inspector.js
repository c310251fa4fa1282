// Brings js-debug's part into a program that Bun runs. js-debug names it in NODE_OPTIONS, which Bun does not
// heed. Bun runs this file before the program (--preload).

const inspector = require("node:inspector");

const named = /(?:--require|-r)[ =]("(?:[^"\\]|\\.)*"|\S+)/.exec(process.env.NODE_OPTIONS ?? "");
if (named !== null) {
  require(named[1].startsWith('"') ? JSON.parse(named[1]) : named[1]);
  if (inspector.url() === undefined) {
    console.error(`Bun ${Bun.version} cannot be debugged: it has no inspector.open of Node; a newer Bun has`);
    process.exit(1);
  }
}
