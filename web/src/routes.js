// Addresses within the page: what the part after `#` names, and how it is written.

const SESSION = /^ses_/;

/** Return `{view, page, ...}`: `view` is `inbox`, `sessions`, `issues`, `workflows`, `trust` or `settings`; `page` says what is open in it.
 * An address that names nothing is the list of sessions without an open one. */
export function routeOf(hash) {
  const [path, query = ""] = hash.replace(/^#/, "").split("?", 2);
  const [first, ...rest] = path.split("/").map(decoded);
  if (first === "inbox") return { view: "inbox", page: "inbox", project: null };
  if (first === "issues") return issueRoute(rest, new URLSearchParams(query));
  if (first === "workflows") return { view: "workflows", page: rest[1] ? "workflow" : "workflows", project: rest[0] ?? null, name: rest[1] ?? null };
  if (first === "trust" && rest[0]) return { view: "trust", page: "trust", project: rest[0] };
  if (first === "settings") return { view: "settings", page: "settings", section: rest[0] ?? "providers", name: rest[1] ?? null, project: null };
  if (first === "runs" && rest[0]) return { view: "workflows", page: "run", run: rest[0], project: null };
  return { view: "sessions", page: "session", session: SESSION.test(first) ? first : null, place: placeOf(path), project: null };
}

/** Return what an address of a session names beside the conversation: `{tab, path, line}`, null for nothing. */
function placeOf(path) {
  const [, tab, names = "", line] = /^ses_[^/]*\/(files|changes)(?:\/(.*?)(?::(\d+))?)?$/.exec(path) ?? [];
  if (!tab) return null;
  return { tab, path: names ? names.split("/").map(decoded).join("/") : null, line: line ? Number(line) : null };
}

function issueRoute([project = null, which = null], query) {
  if (which === "new") return { view: "issues", page: "filing", project };
  if (/^\d+$/.test(which ?? "")) return { view: "issues", page: "issue", project, number: Number(which) };
  return { view: "issues", page: "issues", project, status: query.get("status") ?? "", search: query.get("search") ?? "" };
}

export const to = {
  inbox: () => "#inbox",
  session: (id) => `#${id ?? ""}`,
  /** A message, a run or a question of a session. */
  at: (session, id) => `#${session}/${id}`,
  place: (session, tab, path = "", line = 0) => `#${session}/${tab}${path ? `/${path.split("/").map(encodeURIComponent).join("/")}` : ""}${line ? `:${line}` : ""}`,
  issues: (project, { status = "", search = "" } = {}) => {
    const query = new URLSearchParams(Object.entries({ status, search }).filter(([, value]) => value));
    return `#issues/${encodeURIComponent(project)}${query.size ? `?${query}` : ""}`;
  },
  filing: (project) => `#issues/${encodeURIComponent(project)}/new`,
  issue: (project, number) => `#issues/${encodeURIComponent(project)}/${number}`,
  workflows: (project) => `#workflows/${encodeURIComponent(project)}`,
  workflow: (project, name) => `#workflows/${encodeURIComponent(project)}/${encodeURIComponent(name)}`,
  trust: (project) => `#trust/${encodeURIComponent(project)}`,
  settings: (section = "providers", name = "") => `#settings/${section}${name ? `/${encodeURIComponent(name)}` : ""}`,
  run: (id) => `#runs/${encodeURIComponent(id)}`,
};

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
