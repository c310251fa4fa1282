// The keys of the shell, for those who look them up.

export interface Shortcut {
  keys: string[];
  does: string;
  /** Whether it is a key without Ctrl, which can be switched off. */
  single: boolean;
  /** The view in the rail that it leads to. */
  view?: string;
}

export const SHORTCUTS: { name: string; keys: Shortcut[] }[] = [
  {
    name: "Anywhere",
    keys: [
      { keys: ["Ctrl", "K"], does: "Search sessions, files, issues and commands", single: false },
      { keys: ["Ctrl", "Enter"], does: "Send the message", single: false },
      { keys: ["Ctrl", "."], does: "Stop the run", single: false },
      { keys: ["?"], does: "Show these keys", single: true },
    ],
  },
  {
    name: "Go to",
    keys: [
      { keys: ["g", "i"], does: "Inbox", single: true, view: "inbox" },
      { keys: ["g", "s"], does: "Sessions", single: true, view: "sessions" },
      { keys: ["g", "b"], does: "Issues", single: true, view: "issues" },
      { keys: ["g", "w"], does: "Workflows", single: true, view: "workflows" },
      { keys: ["n"], does: "New session", single: true },
    ],
  },
  {
    name: "Inbox",
    keys: [
      { keys: ["j"], does: "Next", single: true, view: "inbox" },
      { keys: ["k"], does: "Previous", single: true, view: "inbox" },
      { keys: ["o"], does: "Open", single: true, view: "inbox" },
    ],
  },
  {
    name: "A question that you have chosen",
    keys: [
      { keys: ["y"], does: "Allow once", single: true },
      { keys: ["a"], does: "Show the rule that allows it from now on", single: true },
      { keys: ["n"], does: "Reject, with a reason", single: true },
    ],
  },
  {
    name: "In the message",
    keys: [
      { keys: ["Enter"], does: "Send", single: false },
      { keys: ["Shift", "Enter"], does: "Break the line", single: false },
      { keys: ["↑"], does: "Edit the last message, in an empty field", single: false },
      { keys: ["Esc"], does: "Stop the run", single: false },
      { keys: ["@"], does: "Mention a file, symbol, issue or session", single: false },
      { keys: ["/"], does: "Give a command", single: false },
    ],
  },
  {
    name: "Panels",
    keys: [
      { keys: ["["], does: "Show or hide the list", single: true },
      { keys: ["]"], does: "Show or hide the workspace", single: true },
      { keys: ["Esc"], does: "Close what lies over the page", single: false },
    ],
  },
  {
    name: "In the list of changes",
    keys: [
      { keys: ["↑", "↓"], does: "Go from file to file, from change to change", single: false },
      { keys: ["→", "←"], does: "Open a file, close it", single: false },
      { keys: ["c"], does: "Comment on the change", single: true },
      { keys: ["r"], does: "Revert the change", single: true },
      { keys: ["v"], does: "Mark the change as viewed, or not", single: true },
    ],
  },
];

const APPLE = /Mac|iPhone|iPad/.test(navigator.platform);

/** Return a key as this machine's keyboard names it. */
export function keyName(key: string): string {
  return APPLE && key === "Ctrl" ? "⌘" : key;
}
