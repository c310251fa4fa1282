// What this browser remembers of the page. A browser that keeps nothing only forgets it.

export function kept(name: string): string | null {
  try {
    return localStorage.getItem(`kaged.${name}`);
  } catch {
    return null;
  }
}

export function keep(name: string, value: string | null): void {
  try {
    if (value === null) localStorage.removeItem(`kaged.${name}`);
    else localStorage.setItem(`kaged.${name}`, value);
  } catch {
    // It is forgotten with this page.
  }
}

export function keptObject<T extends object>(name: string, usual: T): T {
  try {
    const found: unknown = JSON.parse(kept(name) ?? "null");
    return typeof found === "object" && found !== null && !Array.isArray(found) ? { ...usual, ...found } : usual;
  } catch {
    return usual;
  }
}
