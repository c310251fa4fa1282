// The card of questions with options or free text: `kaged.ask` and `question`.

import { h } from "./dom.js";
import { who } from "./question_words.js";

let made = 0;

export class ChoicesCard {
  /** `questions` are `{key, title, heading, description, options, multiple, other}`; `send(answers)` gets a list
   * of texts by key. */
  constructor({ summary, questions }, { agentPath, send }) {
    this.questions = questions.map((question) => new Question(question));
    this.buttons = [h("button", { type: "submit", class: "primary", data: { answer: "send" } }, "Answer")];
    const asker = who(agentPath);
    const answer = (event) => {
      event.preventDefault();
      const answers = this.#read();
      if (answers) send(answers);
    };
    this.root = h(
      "form",
      { class: "question", "aria-label": `${asker} asks`, noValidate: true, onsubmit: answer },
      h("p", {}, h("strong", {}, `${asker} asks`), summary ? `: ${summary}` : ""),
      this.questions.map((question) => question.root),
      h("div", { class: "row" }, this.buttons),
    );
  }

  #read() {
    const wrong = this.questions.filter((question) => !question.check());
    wrong[0]?.focus();
    return wrong.length ? null : Object.fromEntries(this.questions.map((question) => [question.key, question.answer]));
  }

  /** Show what the daemon found wrong; return what belongs to no question. */
  refuse(problems) {
    const rest = [];
    for (const [name, problem] of Object.entries(problems)) {
      const question = this.questions.find((one) => name === one.key || name.split(".").includes(one.key));
      if (question) question.tell(problem);
      else rest.push(`${name}: ${problem}`);
    }
    return rest;
  }

  close() {}
}

class Question {
  constructor({ key, title, heading, description, options, multiple, other }) {
    this.key = key;
    const name = `question-${(made += 1)}`;
    this.error = h("p", { class: "field-error", id: `${name}-error`, "aria-live": "polite" });
    this.own = other ? h(options.length ? "input" : "textarea", { class: "own-answer", maxLength: 4000, "aria-label": options.length ? "Your own answer" : title, "aria-describedby": `${name}-error` }) : null;
    const type = multiple ? "checkbox" : "radio";
    const choice = (value, label, hint) => h("label", {}, h("input", { type, name, value }), h("span", {}, label, hint ? h("span", { class: "quiet" }, hint) : null));
    const offered = options.map((option, at) => choice(String(at), option.label, option.description));
    if (other && options.length) offered.push(h("div", { class: "row own-row" }, choice("own", "Other", null), this.own));
    this.root = h(
      "fieldset",
      { class: "choices", data: { question: key }, "aria-describedby": `${name}-error` },
      h("legend", {}, heading ? h("span", { class: "quiet" }, `${heading} · `) : null, h("strong", {}, title), multiple ? h("span", { class: "quiet" }, " (several may be chosen)") : null),
      description ? h("p", { class: "quiet" }, description) : null,
      options.length ? offered : this.own,
      this.error,
    );
    this.options = options;
    this.root.addEventListener("input", () => this.tell(""));
    this.own?.addEventListener("input", () => {
      const box = this.root.querySelector('input[value="own"]');
      if (box && this.own.value) box.checked = true;
    });
  }

  /** What was chosen and written, as a list of texts. */
  get answer() {
    if (!this.options.length) return this.own.value.trim() ? [this.own.value.trim()] : [];
    const chosen = [...this.root.querySelectorAll("input:checked")].map((box) => (box.value === "own" ? this.own.value.trim() : this.options[Number(box.value)].label));
    return chosen.filter(Boolean);
  }

  check() {
    const box = this.root.querySelector('input[value="own"]');
    const unsaid = box?.checked && !this.own.value.trim();
    const fits = !unsaid && this.answer.length > 0;
    this.tell(fits ? "" : unsaid || !this.options.length ? "write an answer" : "choose an answer");
    return fits;
  }

  tell(problem) {
    this.error.textContent = problem;
  }

  focus() {
    this.root.querySelector("input, textarea").focus();
  }
}
