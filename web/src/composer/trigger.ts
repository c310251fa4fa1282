// What is being written at the caret: a mention, a command, or neither.

export interface Trigger {
  kind: "mention" | "command";
  query: string;
  /** The place of its sign, and the end of what is written of it. */
  from: number;
  to: number;
}

export function triggerOf(text: string, caret: number): Trigger | null {
  const before = text.slice(0, caret);
  const command = /^\/([\w-]*)$/.exec(before);
  if (command && !text.slice(caret).trim()) return { kind: "command", query: command[1] ?? "", from: 0, to: caret };
  const mention = /(?:^|[\s(])@([^\s@]{0,100})$/.exec(before);
  if (!mention) return null;
  const query = mention[1] ?? "";
  return { kind: "mention", query, from: caret - query.length - 1, to: caret };
}
