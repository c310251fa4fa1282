// The outcome of a question, shown where it was asked.

import { h } from "./dom.js";
import { moment, size, words } from "./format.js";
import { person } from "./issue_words.js";

/** Return what is shown of a closed interaction `{kind, state, request, answer, answered_by, closed_at}`. */
export function answered({ kind, state, request, answer, answered_by: by, closed_at: at }) {
  const when = at ? `, ${moment(at)}` : "";
  if (state !== "answered") return h("p", { class: "quiet answered" }, `Not answered: ${words(state)}${when}`);
  const pairs = { ask: ofAsk, question: ofQuestion, form: ofForm, plan: ofPlan }[kind]?.(request, answer) ?? [];
  return h(
    "div",
    { class: "answered", data: { kind } },
    h("p", { class: "quiet" }, `${kind === "permission" ? consent(answer) : "Answered"} by ${person(by)}${when}`),
    h("dl", {}, pairs.map(([asked, said]) => [h("dt", {}, asked), h("dd", {}, said)])),
  );
}

function ofAsk({ questions }, { answers }) {
  return questions.map((question) => [question.title, texts(answers[question.id])]);
}

function ofQuestion({ questions }, { answers }) {
  return questions.map((question, at) => [question.question, texts(answers[at])]);
}

function ofForm({ fields }, { values }) {
  return fields.map((field) => [field.label, value(values[field.name])]);
}

function ofPlan({ plan }, { state, mode, plan: changed, comment }) {
  const pairs = [["Plan", `${words(state)}${mode ? `, in mode ${mode}` : ""}`]];
  if (changed && changed !== plan) pairs.push(["With changes", changed]);
  if (comment) pairs.push(["Comment", comment]);
  return pairs;
}

function texts(list) {
  return list?.length ? list.join("\n") : "nothing";
}

function value(given) {
  if (given === null || given === undefined) return h("span", { class: "quiet" }, "nothing");
  if (given === true || given === false) return given ? "yes" : "no";
  if (typeof given === "object") return `${given.name} (${size(given.size ?? given.size_bytes)})`;
  return String(given);
}

function consent({ answer, comment }) {
  const word = { once: "Allowed once", always: "Allowed always", reject: "Rejected" }[answer] ?? words(answer);
  return comment ? `${word} ("${comment}")` : word;
}
