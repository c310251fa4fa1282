// Results of tools: one line of JSON, and then a text of its own where the tool has one.

export interface Parsed {
  head: Record<string, any> | null;
  body: string;
}

export function parsed(content: string): Parsed {
  const end = content.indexOf("\n");
  const line = end === -1 ? content : content.slice(0, end);
  if (!line.startsWith("{")) return { head: null, body: content };
  try {
    return { head: JSON.parse(line), body: end === -1 ? "" : content.slice(end + 1) };
  } catch {
    return { head: null, body: content };
  }
}

/** Return what the error of a call says, without its code. */
export function refusal(content: string): string {
  return content.replace(/^Error [a-z0-9_]+: /, "");
}

/** Return the named values that say something: neither empty nor only what was sent. */
export function telling(head: Record<string, any>, given: any): [string, any][] {
  return Object.entries(head).filter(([key, value]) => value !== "" && !(given && typeof given === "object" && given[key] === value));
}

export function worded(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** One entry of a list, as a line. */
export function line(entry: any): string {
  if (typeof entry === "string") return entry;
  if (typeof entry?.file !== "string") return JSON.stringify(entry);
  if (typeof entry.line !== "number") return typeof entry.count === "number" ? `${entry.file}: ${entry.count}` : entry.file;
  return `${entry.file}:${entry.line}: ${entry.content ?? "(not shown)"}`;
}
