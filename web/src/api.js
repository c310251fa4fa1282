// The HTTP interface: one function for a request, one for all pages of a list.

import { API, BASE_PATH } from "./address.js";

const PAGE = 100;

/** The idempotency keys of requests whose outcome is unknown, by address and body. */
const UNKNOWN = new Map();

/** An error of the daemon or the network. `code` is the daemon's, or `unreachable`. */
export class ApiError extends Error {
  constructor(status, { code, message, details, request_id: requestId }) {
    super(message);
    this.status = status;
    this.code = code;
    this.details = details ?? {};
    this.requestId = requestId;
  }
}

/** Make something new, and only one of it: asked for again after the answer was lost, the daemon gives the first
 * answer once more. Throws `ApiError`. */
export async function create(path, body) {
  const what = `${path} ${JSON.stringify(body)}`;
  const key = UNKNOWN.get(what) ?? randomKey();
  try {
    const made = await request("POST", path, body, { key });
    UNKNOWN.delete(what);
    return made;
  } catch (error) {
    if (error.status === 0 || error.status >= 500) UNKNOWN.set(what, key);
    else UNKNOWN.delete(what);
    throw error;
  }
}

/** Return the decoded answer, null for an empty one. Throws `ApiError`. */
export async function request(method, path, body, { key = null } = {}) {
  const headers = {};
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (method !== "GET") Object.assign(headers, csrfHeader());
  // A browser repeats a request by itself whose connection was lost.
  if (method === "POST") headers["Idempotency-Key"] = key ?? randomKey();
  let response;
  try {
    response = await fetch(API + path, {
      method,
      headers,
      body: body === undefined ? undefined : JSON.stringify(body),
      credentials: "same-origin",
    });
  } catch {
    throw new ApiError(0, { code: "unreachable", message: "The daemon does not answer. Is it still running?" });
  }
  const text = await response.text();
  const decoded = decode(text);
  if (response.ok) return decoded;
  const fallback = { code: "failed", message: `The daemon answered with status ${response.status}.` };
  throw new ApiError(response.status, decoded?.error ?? fallback);
}

/** Return all items of a list, page by page. */
export async function allItems(path, { limit = Infinity } = {}) {
  const items = [];
  let cursor = null;
  do {
    const page = await request("GET", address(path, { limit: PAGE, cursor }));
    items.push(...page.items);
    cursor = page.next_cursor;
  } while (cursor !== null && items.length < limit);
  return items;
}

export function address(path, parameters) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== null && value !== undefined) query.set(name, value);
  }
  return `${path}${path.includes("?") ? "&" : "?"}${query}`;
}

export function socketAddress(path) {
  const scheme = location.protocol === "https:" ? "wss:" : "ws:";
  return `${scheme}//${location.host}${API}${path}`;
}

export function downloadAddress(path) {
  return API + path;
}

/** Return the header that shows that a write comes from this page. */
export function csrfHeader() {
  const end = `${BASE_PATH.replaceAll("/", "~")}=`;
  const own = `kaged_csrf${location.port && `_${location.port}`}${end}`;
  const pairs = document.cookie.split("; ").filter((entry) => {
    const port = /^kaged_csrf(_\d+)?/.exec(entry);
    return port && entry.startsWith(end, port[0].length);
  });
  // The daemon behind a proxy knows another port than this page has.
  const pair = pairs.find((entry) => entry.startsWith(own)) ?? (pairs.length === 1 ? pairs[0] : null);
  return pair ? { "X-Kaged-CSRF": decodeURIComponent(pair.slice(pair.indexOf("=") + 1)) } : {};
}

function randomKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function decode(text) {
  if (!text) return null;
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
