// Form fields declared by an agent (kaged.form) or by a workflow. Errors are shown beside their field, whether this
// page or the daemon found them.

import { h } from "./dom.ts";
import { FileField } from "./file_field.ts";

let made = 0;

/** `specs` are `{name, label, type, required, description, default, options, max_length}`; the types
 * are `text`, `textarea`, `url`, `number`, `integer`, `boolean`, `enum` and `file`. Files go to `uploadPath`. */
export class Fields {
  constructor(specs, { uploadPath }) {
    this.fields = specs.map((spec) => new Field(spec, { uploadPath }));
    this.roots = this.fields.map((field) => field.root);
  }

  /** Return the values by name, or null when one is missing or wrong; the first of those has the focus then. */
  read() {
    const wrong = this.fields.filter((field) => field.check() !== null);
    wrong[0]?.focus();
    if (wrong.length) return null;
    const values = this.fields.map((field) => [field.spec.name, field.value]).filter(([, value]) => value !== undefined);
    return Object.fromEntries(values);
  }

  /** Show what the daemon found wrong (`{name: what}`); return what belongs to none of the fields. */
  refuse(problems) {
    const rest = [];
    let first = null;
    for (const [name, problem] of Object.entries(problems)) {
      const field = this.fields.find((known) => name === known.spec.name || name.endsWith(`.${known.spec.name}`));
      if (field) {
        field.tell(problem);
        first ??= field;
      } else {
        rest.push(`${name}: ${problem}`);
      }
    }
    first?.focus();
    return rest;
  }

  /** Stop what is still on its way. */
  close() {
    for (const field of this.fields) field.file?.close();
  }
}

class Field {
  constructor(spec, options) {
    this.spec = spec;
    this.id = `field-${(made += 1)}`;
    this.error = h("p", { class: "field-error", id: `${this.id}-error`, "aria-live": "polite" });
    this.file = spec.type === "file" ? new FileField(this.id, { ...options, onProblem: (problem) => this.tell(problem) }) : null;
    this.control = this.file?.input ?? control(spec, this.id);
    const hint = spec.description ? h("p", { class: "quiet", id: `${this.id}-about` }, spec.description) : null;
    this.control.setAttribute("aria-describedby", `${hint ? `${this.id}-about ` : ""}${this.id}-error`);
    if (spec.required) this.control.setAttribute("aria-required", "true");
    this.control.addEventListener("input", () => this.tell(""));
    const mark = spec.required ? "" : h("span", { class: "quiet" }, " (optional)");
    const label = h("label", { htmlFor: this.id }, spec.label || spec.name, mark);
    const boolean = spec.type === "boolean";
    this.root = h(
      "div",
      { class: "field", data: { field: spec.name, type: spec.type } },
      boolean ? h("div", { class: "row" }, this.control, label) : label,
      hint,
      boolean ? null : (this.file?.root ?? this.control),
      this.error,
    );
  }

  /** The value as the daemon takes it; undefined when none was given. */
  get value() {
    if (this.file) return this.file.uploaded?.id;
    if (this.spec.type === "boolean") return this.control.checked;
    const text = this.spec.type === "textarea" ? this.control.value : this.control.value.trim();
    if (text === "") return undefined;
    return this.spec.type === "number" || this.spec.type === "integer" ? Number(text) : text;
  }

  /** Return what is wrong, null when nothing is; it is shown beside the field. */
  check() {
    const problem = this.#problem();
    this.tell(problem ?? "");
    return problem;
  }

  #problem() {
    const { type, required, max_length: longest } = this.spec;
    if (this.file?.problem) return this.file.problem;
    if (this.control.validity.badInput) return "must be a number";
    const { value } = this;
    if (value === undefined) return required ? "is required" : null;
    if (type === "integer" && !Number.isInteger(value)) return "must be a whole number";
    if (type === "url" && !isAddress(value)) return "must be an address that begins with http:// or https://";
    if (longest && [...String(value)].length > longest) return `has more than ${longest} characters`;
    return null;
  }

  /** Show a problem beside the field; an empty text takes it away. */
  tell(problem) {
    this.error.textContent = problem;
    if (problem) this.control.setAttribute("aria-invalid", "true");
    else this.control.removeAttribute("aria-invalid");
  }

  focus() {
    this.control.focus();
  }
}

function control(spec, id) {
  const preset = spec.default ?? undefined;
  switch (spec.type) {
    case "textarea":
      return h("textarea", { id, rows: 4, defaultValue: preset });
    case "number":
    case "integer":
      return h("input", { id, type: "number", step: spec.type === "integer" ? "1" : "any", defaultValue: preset === undefined ? "" : String(preset) });
    case "boolean":
      return h("input", { id, type: "checkbox", defaultChecked: preset === true });
    case "enum":
      return choice(spec, id);
    case "url":
      return h("input", { id, type: "text", inputMode: "url", placeholder: "https://", spellcheck: false, defaultValue: preset ?? "" });
    default:
      return h("input", { id, type: "text", defaultValue: preset ?? "" });
  }
}

function choice(spec, id) {
  const none = spec.default === undefined || spec.default === null;
  const options = spec.options.map((value) => h("option", { value, defaultSelected: value === spec.default }, value));
  return h("select", { id }, none ? h("option", { value: "" }, "Choose…") : null, options);
}

function isAddress(text) {
  try {
    return /^https?:$/.test(new URL(text).protocol);
  } catch {
    return false;
  }
}
