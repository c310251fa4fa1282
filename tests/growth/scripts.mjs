// A process of its own that measures how the CPU time of the page's patterns grows with the text.
// Usage: node scripts.mjs FILE...; prints one line before each pattern, and one JSON line for each that is slow.

import { readFileSync } from "node:fs";

const SCREENED = 8 * 1024;
const CLEARLY_LINEAR = 6_000;
const [SMALL, LARGE] = [64 * 1024, 256 * 1024];
const MAX_RATIO = 8;
const NOISE = 20_000;
const STRANGERS = ["\u0001", "`", "\u2028x", "x", ")", "\n"];
// A pattern's literal: behind what cannot end an operand, with its classes, to its flags.
const LITERAL = /(?<=[=(,:[]\s?)\/((?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+)\/([dgimsuvy]*)(?=[;,).\]])/g;

for (const file of process.argv.slice(2)) {
  for (const [, source, flags] of readFileSync(file, "utf8").matchAll(LITERAL)) {
    const pattern = new RegExp(source, flags.replace(/[gy]/g, "") + "g");
    console.log(`${file}: ${source}`);
    for (const pump of pumps(source)) {
      for (const stranger of STRANGERS) measure(file, pattern, pump, stranger);
    }
  }
}
console.log("done");

function pumps(source) {
  const plain = source.replace(/\\[sdwSDWbB]|\\[pPux]\{?[\dA-Za-z]*\}?/g, "").replace(/\\/g, "");
  const alphabet = [...new Set([...plain.replace(/[()^$|?+]/g, ""), ..."a0 -\u001b"])].slice(0, 14);
  const pairs = alphabet.flatMap((one) => alphabet.map((other) => one + other));
  return [...alphabet, ...pairs, "http://", "# ", "- - ", "- [ ] ", "](a"];
}

function tooSlow(small, large) {
  return large / Math.max(small, NOISE) >= MAX_RATIO;
}

function measure(file, pattern, pump, stranger) {
  const run = (size) => {
    const text = ["", "# ", "http://a", "|-", "\u001b["].map((start) => start + pump.repeat(size / pump.length) + stranger);
    const before = process.cpuUsage();
    for (const one of text) for (const _ of one.matchAll(pattern));
    const { user, system } = process.cpuUsage(before);
    return user + system;
  };
  if (run(SCREENED) < CLEARLY_LINEAR * 5) return;
  let [small, large] = [Math.min(run(SMALL), run(SMALL)), run(LARGE)];
  // Neighbours on the machine cost cache and clock: the least of each is nearest to the truth.
  if (tooSlow(small, large)) [small, large] = [Math.min(small, run(SMALL)), Math.min(large, run(LARGE))];
  if (tooSlow(small, large)) console.log(JSON.stringify({ slow: `${file}: ${pattern.source}`, pump, stranger, small, large }));
}
