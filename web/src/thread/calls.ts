// What calls of tools are named on the page.

import { firstLine } from "../format.ts";
import type { Call } from "./items.svelte.ts";

const TELLING = ["pattern", "path", "file", "query", "script", "expression", "expand", "command", "title", "name", "url", "task", "prompt"];

const VERBS: Record<string, string> = {
  "file.read": "Read",
  read: "Read",
  "file.write": "Write",
  write: "Write",
  "file.create": "Create",
  "edit.text": "Edit",
  edit: "Edit",
  "edit.ast": "Edit",
  "search.grep": "Search",
  grep: "Search",
  "search.glob": "Find files",
  glob: "Find files",
  "search.ast": "Search code",
  "shell.bash": "Run",
  bash: "Run",
  shell: "Run",
  exec: "Run",
  "shell.background": "Background",
  "code.lsp": "Code",
  debug: "Debug",
  "kaged.todo": "Checklist",
  todo: "Checklist",
  "kaged.issue": "Issue",
  "kaged.ask": "Ask",
  question: "Ask",
  "kaged.form": "Form",
  "kaged.plan": "Plan",
  "kaged.changes": "Changes",
  "kaged.checkpoint": "Checkpoint",
  "project.recipe": "Recipe",
  web_fetch: "Fetch",
  web_search: "Search the web",
  tool_search: "Find tools",
  call_tool: "Call",
  "compute.calc": "Calculate",
  skill: "Skill",
};

const EDITS = new Set(["edit.text", "edit", "edit.ast", "file.write", "write", "file.create"]);
const SHELLS = new Set(["shell.bash", "bash", "shell", "exec", "project.recipe"]);
const CHECKLISTS = new Set(["kaged.todo", "todo"]);

export function verb({ name }: Call): string {
  return VERBS[name] ?? name;
}

export function isEdit(name: string): boolean {
  return EDITS.has(name);
}

export function isShell(name: string): boolean {
  return SHELLS.has(name);
}

export function isChecklist(name: string): boolean {
  return CHECKLISTS.has(name);
}

export function opensAtOnce(name: string): boolean {
  return isEdit(name) || isShell(name) || isChecklist(name);
}

/** Say in a few words what a call is about. */
export function about(given: any): string {
  if (typeof given !== "object" || given === null) return firstLine(given ?? "");
  const { action, ...rest } = given;
  const name = TELLING.find((key) => typeof rest[key] === "string");
  const value = name ? rest[name] : Object.values(rest).find((entry) => typeof entry === "string");
  return firstLine([action, value].filter((entry) => typeof entry === "string").join(" "), 160);
}
