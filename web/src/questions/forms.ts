// The fields of open forms, by question: what is filled in, and a file on its way, outlive the card.

import { Fields } from "../fields.js";
import { draftOf, forgetDraft, keepDraft } from "./drafts.ts";

const made = new Map<string, any>();

/** Return the fields of a form. Texts that were written before a reload stand in them. */
export function fieldsOf(id: string, specs: unknown[], uploadPath: string): any {
  let fields = made.get(id);
  if (!fields) {
    fields = new Fields(specs, { uploadPath });
    made.set(id, fields);
    remember(id, fields);
  }
  return fields;
}

/** The question is answered, or is not open any more: stop what is on its way. */
export function dropForm(id: string): void {
  made.get(id)?.close();
  made.delete(id);
  forgetDraft(id);
}

function remember(id: string, fields: any): void {
  const draft = draftOf<Record<string, string | boolean>>(id, {});
  for (const { spec, control, file, root } of fields.fields) {
    if (file) continue;
    const kept = draft[spec.name];
    if (typeof kept === "boolean") control.checked = kept;
    else if (kept !== undefined) control.value = kept;
    root.addEventListener("input", () => {
      draft[spec.name] = spec.type === "boolean" ? control.checked : control.value;
      keepDraft(id, draft);
    });
  }
}
