// Addresses within the page: what the part after `#` names, and how it is written.

import type { FilePlace, Place } from "./workspace/types.ts";

const SESSION = /^ses_/;

/** What an address names, by the page that it opens. */
interface Pages {
  inbox: { view: "inbox"; project: null };
  session: { view: "sessions"; session: string | null; place: Place | null; project: null };
  issues: { view: "issues"; project: string | null; status: string; search: string };
  filing: { view: "issues"; project: string | null };
  issue: { view: "issues"; project: string | null; number: number };
  workflows: { view: "workflows"; project: string | null; name: null };
  workflow: { view: "workflows"; project: string | null; name: string };
  run: { view: "workflows"; run: string; project: null };
  trust: { view: "trust"; project: string };
  settings: { view: "settings"; section: string; name: string | null; project: null };
}

export type PageName = keyof Pages;
export type Route<Name extends PageName = PageName> = { [One in Name]: { page: One } & Pages[One] }[Name];
/** A route whose project was found, where its page is of one. */
export type Complete<Name extends PageName> = Route<Name> & (Name extends "issues" | "filing" | "issue" | "workflows" | "workflow" ? { project: string } : unknown);

/** Return what an address names: `view` is the part of the page, `page` what is open in it.
 * An address that names nothing is the list of sessions without an open one. */
export function routeOf(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#/, "").split("?", 2);
  const [first = "", ...rest] = path.split("/").map(decoded);
  if (first === "inbox") return { view: "inbox", page: "inbox", project: null };
  if (first === "issues") return issueRoute(rest, new URLSearchParams(query));
  if (first === "workflows") return rest[1] ? { view: "workflows", page: "workflow", project: rest[0] ?? null, name: rest[1] } : { view: "workflows", page: "workflows", project: rest[0] ?? null, name: null };
  if (first === "trust" && rest[0]) return { view: "trust", page: "trust", project: rest[0] };
  if (first === "settings") return { view: "settings", page: "settings", section: rest[0] ?? "providers", name: rest[1] ?? null, project: null };
  if (first === "runs" && rest[0]) return { view: "workflows", page: "run", run: rest[0], project: null };
  return { view: "sessions", page: "session", session: SESSION.test(first) ? first : null, place: placeOf(path), project: null };
}

/** Return what an address of a session names beside the conversation, null for nothing. */
function placeOf(path: string): Place | null {
  const [, run] = /^ses_[^/]*\/agents\/(run_\w+)$/.exec(path) ?? [];
  if (run) return { tab: "agent", run };
  const [, tab, names = "", line] = /^ses_[^/]*\/(files|changes)(?:\/(.*?)(?::(\d+))?)?$/.exec(path) ?? [];
  if (tab !== "files" && tab !== "changes") return null;
  return { tab, path: names ? names.split("/").map(decoded).join("/") : null, line: line ? Number(line) : null };
}

function issueRoute([named, which = ""]: string[], query: URLSearchParams): Route<"issues" | "filing" | "issue"> {
  const project = named ?? null;
  if (which === "new") return { view: "issues", page: "filing", project };
  if (/^\d+$/.test(which)) return { view: "issues", page: "issue", project, number: Number(which) };
  return { view: "issues", page: "issues", project, status: query.get("status") ?? "", search: query.get("search") ?? "" };
}

export const to = {
  inbox: () => "#inbox",
  session: (id?: string | null) => `#${id ?? ""}`,
  /** A message, a run or a question of a session; `agents/` and a run opens a subagent beside the conversation. */
  at: (session: string, id: string) => `#${session}/${id}`,
  place: (session: string, tab: FilePlace["tab"], path = "", line = 0) => `#${session}/${tab}${path ? `/${path.split("/").map(encodeURIComponent).join("/")}` : ""}${line ? `:${line}` : ""}`,
  issues: (project: string, { status = "", search = "" } = {}) => {
    const query = new URLSearchParams(Object.entries({ status, search }).filter(([, value]) => value));
    return `#issues/${encodeURIComponent(project)}${query.size ? `?${query}` : ""}`;
  },
  filing: (project: string) => `#issues/${encodeURIComponent(project)}/new`,
  issue: (project: string, number: number) => `#issues/${encodeURIComponent(project)}/${number}`,
  workflows: (project: string) => `#workflows/${encodeURIComponent(project)}`,
  workflow: (project: string, name: string) => `#workflows/${encodeURIComponent(project)}/${encodeURIComponent(name)}`,
  trust: (project: string) => `#trust/${encodeURIComponent(project)}`,
  settings: (section = "providers", name = "") => `#settings/${section}${name ? `/${encodeURIComponent(name)}` : ""}`,
  run: (id: string) => `#runs/${encodeURIComponent(id)}`,
};

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
