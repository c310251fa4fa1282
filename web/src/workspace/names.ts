// Names and lines of files as they are shown. A file may be called anything, and may contain anything: what has no
// shape, or turns the direction of what follows, is shown as its number.

const BYTES = "~bytes:";
const SHAPELESS = /[\u0000-\u0008\u000a-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\u{e0000}-\u{e007f}]/gu;

/** Return a name or one line of a file; texts of questions are `writtenOut`. */
export function visible(text: string): string {
  return text.replace(SHAPELESS, (one) => `⟨U+${(one.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}⟩`);
}

/** Return a text of several lines. */
export function visibleLines(text: string): string {
  return text.split(/\r?\n/).map(visible).join("\n");
}

/** Return a path of the daemon as people read it. */
export function shownPath(path: string): string {
  if (!path.startsWith(BYTES)) return visible(path);
  try {
    const binary = atob(path.slice(BYTES.length).replaceAll("-", "+").replaceAll("_", "/"));
    return visible(new TextDecoder().decode(Uint8Array.from(binary, (one) => one.charCodeAt(0))));
  } catch {
    return visible(path);
  }
}

/** Return the folder, with a slash at its end, and the name of a path that is shown. */
export function split(path: string): [folder: string, name: string] {
  const shown = shownPath(path);
  const slash = shown.lastIndexOf("/") + 1;
  return [shown.slice(0, slash), shown.slice(slash)];
}

/** Return a path as it stands in an address of the daemon. */
export function inAddress(path: string): string {
  return path.split("/").map(encodeURIComponent).join("/");
}

export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}
