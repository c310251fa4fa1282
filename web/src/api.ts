// The HTTP interface: one function for a request, one for all pages of a list.

import type { ErrorBody } from "../../clients/typescript/src/errors.ts";
import type { components } from "../../clients/typescript/src/generated/routes.ts";
import { API, BASE_PATH } from "./address.ts";

const PAGE = 100;

/** What the interface takes and answers, by name. */
export type Schemas = components["schemas"];

/** One page of a list. */
export interface Page<Item> {
  items: Item[];
  next_cursor: string | null;
}

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/** The idempotency keys of requests whose outcome is unknown, by address and body. */
const UNKNOWN = new Map<string, string>();

/** An error of the daemon or the network. `code` is the daemon's, or `unreachable`. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  readonly details: Record<string, unknown>;
  readonly requestId: string | undefined;

  constructor(status: number, { code, message, details, request_id: requestId }: ErrorBody) {
    super(message);
    this.status = status;
    this.code = code;
    this.details = details ?? {};
    this.requestId = requestId;
  }
}

/** Make something new, and only one of it: asked for again after the answer was lost, the daemon gives the first
 * answer once more. Throws `ApiError`. */
export async function create<Answer>(path: string, body?: unknown): Promise<Answer> {
  const what = `${path} ${JSON.stringify(body)}`;
  const key = UNKNOWN.get(what) ?? randomKey();
  try {
    const made = await request<Answer>("POST", path, body, { key });
    UNKNOWN.delete(what);
    return made;
  } catch (error) {
    if (error instanceof ApiError && (error.status === 0 || error.status >= 500)) UNKNOWN.set(what, key);
    else UNKNOWN.delete(what);
    throw error;
  }
}

/** Return the decoded answer, null for an empty one. `Answer` is what the interface says of it. Throws `ApiError`. */
export async function request<Answer>(method: Method, path: string, body?: unknown, { key = null }: { key?: string | null } = {}): Promise<Answer> {
  const headers: Record<string, string> = {};
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (method !== "GET") Object.assign(headers, csrfHeader());
  // A browser repeats a request by itself whose connection was lost.
  if (method === "POST") headers["Idempotency-Key"] = key ?? randomKey();
  let response: Response;
  try {
    response = await fetch(API + path, {
      method,
      headers,
      body: body === undefined ? null : JSON.stringify(body),
      credentials: "same-origin",
    });
  } catch {
    throw new ApiError(0, { code: "unreachable", message: "The daemon does not answer. Is it still running?" });
  }
  const decoded = decode(await response.text());
  if (response.ok) return decoded as Answer;
  const fallback = { code: "failed", message: `The daemon answered with status ${response.status}.` };
  throw new ApiError(response.status, (decoded as { error?: ErrorBody } | null)?.error ?? fallback);
}

/** Return all items of a list, page by page. */
export async function allItems<Item>(path: string, { limit = Infinity } = {}): Promise<Item[]> {
  const items: Item[] = [];
  let cursor: string | null = null;
  do {
    const page: Page<Item> = await request("GET", address(path, { limit: PAGE, cursor }));
    items.push(...page.items);
    cursor = page.next_cursor;
  } while (cursor !== null && items.length < limit);
  return items;
}

/** Return the path with these parameters; null and undefined are left out. */
export function address(path: string, parameters: Readonly<Record<string, string | number | boolean | null | undefined>>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== null && value !== undefined) query.set(name, String(value));
  }
  return `${path}${path.includes("?") ? "&" : "?"}${query}`;
}

export function socketAddress(path: string): string {
  const scheme = location.protocol === "https:" ? "wss:" : "ws:";
  return `${scheme}//${location.host}${API}${path}`;
}

export function downloadAddress(path: string): string {
  return API + path;
}

/** Return the header that shows that a write comes from this page. */
export function csrfHeader(): Record<string, string> {
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

function randomKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function decode(text: string): unknown {
  if (!text) return null;
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
