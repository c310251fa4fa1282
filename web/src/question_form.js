// The card of a form of an agent: `kaged.form`.

import { h } from "./dom.js";
import { Fields } from "./fields.js";
import { who } from "./question_words.js";

export class FormCard {
  /** `send(values)` gets the values by name; files are handed in at `uploadPath` before. */
  constructor({ summary, fields }, { agentPath, uploadPath, send }) {
    this.fields = new Fields(fields, { uploadPath });
    this.buttons = [h("button", { type: "submit", class: "primary", data: { answer: "send" } }, "Send")];
    const asker = who(agentPath);
    const submit = (event) => {
      event.preventDefault();
      const values = this.fields.read();
      if (values) send(values);
    };
    this.root = h(
      "form",
      { class: "question fields", "aria-label": `${asker} asks for data`, noValidate: true, onsubmit: submit },
      h("p", {}, h("strong", {}, `${asker} asks`), `: ${summary}`),
      this.fields.roots,
      h("div", { class: "row" }, this.buttons),
    );
  }

  refuse(problems) {
    return this.fields.refuse(problems);
  }

  close() {
    this.fields.close();
  }
}
