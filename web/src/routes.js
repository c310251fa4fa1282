// Addresses within the page: what the part after `#` names, and how it is written.

const SESSION = /^ses_/;

/** Return `{view, page, ...}`: `view` is `sessions`, `issues`, `workflows` or `trust`; `page` says what is open in it.
 * An address that names nothing is the list of sessions without an open one. */
export function routeOf(hash) {
  const [path, query = ""] = hash.replace(/^#/, "").split("?", 2);
  const [first, ...rest] = path.split("/").map(decoded);
  if (first === "issues") return issueRoute(rest, new URLSearchParams(query));
  if (first === "workflows") return { view: "workflows", page: rest[1] ? "workflow" : "workflows", project: rest[0] ?? null, name: rest[1] ?? null };
  if (first === "trust" && rest[0]) return { view: "trust", page: "trust", project: rest[0] };
  if (first === "runs" && rest[0]) return { view: "workflows", page: "run", run: rest[0], project: null };
  return { view: "sessions", page: "session", session: SESSION.test(first) ? first : null, project: null };
}

function issueRoute([project = null, which = null], query) {
  if (which === "new") return { view: "issues", page: "filing", project };
  if (/^\d+$/.test(which ?? "")) return { view: "issues", page: "issue", project, number: Number(which) };
  return { view: "issues", page: "issues", project, status: query.get("status") ?? "", search: query.get("search") ?? "" };
}

export const to = {
  session: (id) => `#${id ?? ""}`,
  issues: (project, { status = "", search = "" } = {}) => {
    const query = new URLSearchParams(Object.entries({ status, search }).filter(([, value]) => value));
    return `#issues/${encodeURIComponent(project)}${query.size ? `?${query}` : ""}`;
  },
  filing: (project) => `#issues/${encodeURIComponent(project)}/new`,
  issue: (project, number) => `#issues/${encodeURIComponent(project)}/${number}`,
  workflows: (project) => `#workflows/${encodeURIComponent(project)}`,
  workflow: (project, name) => `#workflows/${encodeURIComponent(project)}/${encodeURIComponent(name)}`,
  trust: (project) => `#trust/${encodeURIComponent(project)}`,
  run: (id) => `#runs/${encodeURIComponent(id)}`,
};

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
