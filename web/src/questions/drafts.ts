// What is written into an answer that was not given yet: it outlives the card, and a reload of the page.

const PREFIX = "kaged.answer.";
const known = new Map<string, unknown>();

/** Return what was written for a question, `usual` when nothing was. */
export function draftOf<T extends object>(id: string, usual: T): T {
  return (known.get(id) as T | undefined) ?? stored<T>(id) ?? usual;
}

export function keepDraft(id: string, draft: object): void {
  known.set(id, draft);
  try {
    sessionStorage.setItem(PREFIX + id, JSON.stringify(draft));
  } catch {
    // It is forgotten with this page.
  }
}

export function forgetDraft(id: string): void {
  known.delete(id);
  try {
    sessionStorage.removeItem(PREFIX + id);
  } catch {
    // Nothing was kept.
  }
}

function stored<T>(id: string): T | undefined {
  try {
    const found: unknown = JSON.parse(sessionStorage.getItem(PREFIX + id) ?? "null");
    return typeof found === "object" && found !== null ? (found as T) : undefined;
  } catch {
    return undefined;
  }
}
