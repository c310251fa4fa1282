// Form fields declared by an agent (kaged.form) or by a workflow. Errors are shown beside their field, whether this
// page or the daemon found them.

import { h } from "./dom.ts";
import { FileField } from "./file_field.ts";

/** A field as an agent or a workflow declares it; a file goes to the `uploadPath` of its form. */
export interface Spec {
  name: string;
  type: "text" | "textarea" | "url" | "number" | "integer" | "boolean" | "enum" | "file";
  label?: string | null;
  required?: boolean;
  description?: string | null;
  default?: string | number | boolean | null;
  options?: string[] | null;
  max_length?: number | null;
}

type Value = string | number | boolean | undefined;
type Control = HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement;

interface Options {
  uploadPath: string;
}

let made = 0;

export class Fields {
  readonly fields: Field[];
  readonly roots: HTMLElement[];

  constructor(specs: Spec[], { uploadPath }: Options) {
    this.fields = specs.map((spec) => new Field(spec, { uploadPath }));
    this.roots = this.fields.map((field) => field.root);
  }

  /** Return the values by name, or null when one is missing or wrong; the first of those has the focus then. */
  read(): Record<string, Value> | null {
    const wrong = this.fields.filter((field) => field.check() !== null);
    wrong[0]?.focus();
    if (wrong.length) return null;
    const values = this.fields.map((field): [string, Value] => [field.spec.name, field.value]);
    return Object.fromEntries(values.filter(([, value]) => value !== undefined));
  }

  /** Show what the daemon found wrong (`{name: what}`); return what belongs to none of the fields. */
  refuse(problems: Record<string, string>): string[] {
    const rest: string[] = [];
    let first: Field | null = null;
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
  close(): void {
    for (const field of this.fields) field.file?.close();
  }
}

class Field {
  readonly spec: Spec;
  readonly id: string;
  readonly error: HTMLElement;
  readonly file: FileField | null;
  readonly control: Control;
  readonly root: HTMLElement;

  constructor(spec: Spec, options: Options) {
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
  get value(): Value {
    if (this.file) return this.file.uploaded?.id;
    if (this.spec.type === "boolean") return (this.control as HTMLInputElement).checked;
    const text = this.spec.type === "textarea" ? this.control.value : this.control.value.trim();
    if (text === "") return undefined;
    return this.spec.type === "number" || this.spec.type === "integer" ? Number(text) : text;
  }

  /** Return what is wrong, null when nothing is; it is shown beside the field. */
  check(): string | null {
    const problem = this.#problem();
    this.tell(problem ?? "");
    return problem;
  }

  #problem(): string | null {
    const { type, required, max_length: longest } = this.spec;
    if (this.file?.problem) return this.file.problem;
    if (this.control.validity.badInput) return "must be a number";
    const { value } = this;
    if (value === undefined) return required ? "is required" : null;
    if (type === "integer" && !Number.isInteger(value)) return "must be a whole number";
    if (type === "url" && !isAddress(String(value))) return "must be an address that begins with http:// or https://";
    if (longest && [...String(value)].length > longest) return `has more than ${longest} characters`;
    return null;
  }

  /** Show a problem beside the field; an empty text takes it away. */
  tell(problem: string): void {
    this.error.textContent = problem;
    if (problem) this.control.setAttribute("aria-invalid", "true");
    else this.control.removeAttribute("aria-invalid");
  }

  focus(): void {
    this.control.focus();
  }
}

function control(spec: Spec, id: string): Control {
  const preset = String(spec.default ?? "");
  switch (spec.type) {
    case "textarea":
      return h("textarea", { id, rows: 4, defaultValue: preset });
    case "number":
    case "integer":
      return h("input", { id, type: "number", step: spec.type === "integer" ? "1" : "any", defaultValue: preset });
    case "boolean":
      return h("input", { id, type: "checkbox", defaultChecked: spec.default === true });
    case "enum":
      return choice(spec, id);
    case "url":
      return h("input", { id, type: "text", inputMode: "url", placeholder: "https://", spellcheck: false, defaultValue: preset });
    default:
      return h("input", { id, type: "text", defaultValue: preset });
  }
}

function choice(spec: Spec, id: string): HTMLSelectElement {
  const none = spec.default === undefined || spec.default === null;
  const options = (spec.options ?? []).map((value) => h("option", { value, defaultSelected: value === spec.default }, value));
  return h("select", { id }, none ? h("option", { value: "" }, "Choose…") : null, options);
}

function isAddress(text: string): boolean {
  try {
    return /^https?:$/.test(new URL(text).protocol);
  } catch {
    return false;
  }
}
