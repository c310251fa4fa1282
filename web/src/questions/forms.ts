// The fields of open forms, by question: what is filled in, and a file on its way, outlive the card.

import { Fields, type Spec } from "../fields.ts";
import { draftOf, forgetDraft, keepDraft } from "./drafts.ts";

const made = new Map<string, Fields>();

/** Return the fields of a form. Texts that were written before a reload stand in them. */
export function fieldsOf(id: string, specs: Spec[], uploadPath: string): Fields {
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

function remember(id: string, fields: Fields): void {
  const draft = draftOf<Record<string, string | boolean>>(id, {});
  for (const { spec, control, file, root } of fields.fields) {
    if (file) continue;
    const kept = draft[spec.name];
    const box = spec.type === "boolean" ? (control as HTMLInputElement) : null;
    if (box && typeof kept === "boolean") box.checked = kept;
    else if (typeof kept === "string") control.value = kept;
    root.addEventListener("input", () => {
      draft[spec.name] = box ? box.checked : control.value;
      keepDraft(id, draft);
    });
  }
}
