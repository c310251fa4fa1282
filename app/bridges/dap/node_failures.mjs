// A reporter for node:test, vitest and jest. It stops the debugger where tests begin, and at each failure that
// the runner reports, with what has failed as text: by then the frames of the failure are gone. It prints nothing.

import { Transform } from "node:stream";

const MAX_STOPS = 20;
const MAX_MESSAGE = 2_000;
const MAX_STACK = 6_000;
let stops = 0;

function kagedTells(told) {
  debugger;
  return told;
}

const words = (text, most) => (typeof text === "string" ? text.slice(0, most) : "");

const tell = (error, stack = error?.stack, message = error?.message) => {
  if (stops >= MAX_STOPS) return;
  stops += 1;
  const plain = typeof error === "object" || error === undefined ? message : String(error);
  // The frames, whose end is what counts where a message fills the text.
  const frames = words(stack, 1_000_000).split("\n").filter((line) => line.trimStart().startsWith("at "));
  const [, first] = /^([A-Z][\w$.]*)(?::|$)/m.exec(words(stack, 200)) ?? [];
  const failure = {
    type: words(error?.name ?? first, 200),
    message: words(plain, MAX_MESSAGE),
    stack: frames.join("\n").slice(0, MAX_STACK),
  };
  kagedTells(Buffer.from(JSON.stringify(failure)).toString("base64"));
};

let begun = false;
const begin = () => {
  if (!begun) kagedTells("");
  begun = true;
};

const ofNode = ({ type, data }) => {
  const error = data?.details?.error;
  const failed = type === "test:fail" && data.todo === undefined && data.skip === undefined;
  if (failed && error?.failureType !== "subtestsFailed") tell(error?.cause ?? error);
};

const ofVitest = (tasks) => {
  for (const task of tasks) {
    if (task.result?.state === "fail") for (const error of task.result.errors ?? []) tell(error);
    if (task.mode !== "skip" && task.mode !== "todo") ofVitest(task.tasks ?? []);
  }
};

const ofJest = (result) => {
  if (result.testExecError) tell(result.testExecError);
  for (const one of result.testResults ?? []) {
    if (one.status !== "failed") continue;
    one.failureMessages.forEach((stack, at) => {
      const error = one.failureDetails?.[at];
      tell(error?.error ?? error, stack, error?.matcherResult?.message ?? error?.message ?? stack);
    });
  }
};

let ended = false;

export default class extends Transform {
  constructor() {
    super({
      writableObjectMode: true,
      transform(event, encoding, done) {
        ofNode(event);
        done();
      },
    });
  }

  // vitest
  onCollected() {
    begin();
  }

  onTestModuleCollected() {
    begin();
  }

  onFinished(files, errors) {
    if (ended) return;
    ended = true;
    ofVitest(files ?? []);
    for (const error of errors ?? []) tell(error);
  }

  onTestRunEnd(modules, errors) {
    this.onFinished(modules.map((one) => one.task), errors);
  }

  // jest
  onTestFileStart() {
    begin();
  }

  onTestFileResult(test, result) {
    ofJest(result);
  }
}
