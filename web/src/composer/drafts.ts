// What is written and not sent, by session. A reload, or signing in again, takes nothing away.

/** Where this tab keeps unsent drafts, as a list of session and text. */
const KEPT = "kaged.drafts";

export class Drafts {
  #texts = new Map<string, string>(stored());

  get(session: string): string {
    return this.#texts.get(session) ?? "";
  }

  set(session: string, text: string): void {
    if (text) this.#texts.set(session, text);
    else this.#texts.delete(session);
  }

  store(): void {
    try {
      sessionStorage.setItem(KEPT, JSON.stringify([...this.#texts]));
    } catch {
      // There is no room for them, or the browser keeps nothing.
    }
  }
}

function stored(): [string, string][] {
  try {
    return JSON.parse(sessionStorage.getItem(KEPT) ?? "[]") ?? [];
  } catch {
    return [];
  }
}
