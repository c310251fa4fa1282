/** Requests: typed by the generated paths, repeated while that has no second effect. */

import { ConnectionFailed, KagedError, type ErrorBody } from "./errors.js";
import { KEYED, type paths } from "./generated/routes.js";

export type Method = "get" | "post" | "put" | "patch" | "delete";

/** The routes that have a method. */
export type PathsOf<M extends Method> = {
  [P in keyof paths]: paths[P] extends Record<M, { responses: unknown }> ? P : never;
}[keyof paths];

type OperationOf<P extends keyof paths, M extends Method> = paths[P] extends Record<M, infer O> ? O : never;

type Contents<R> = R extends { content: infer C } ? C[keyof C] : undefined;
type Succeeded<R> = { [S in keyof R]: S extends 200 | 201 | 202 | 204 | 206 ? Contents<R[S]> : never }[keyof R];
/** The answer of a route. */
export type AnswerOf<P extends keyof paths, M extends Method> =
  OperationOf<P, M> extends { responses: infer R } ? Succeeded<R> : never;

type PartOf<O, K extends string> = O extends { parameters: infer A } ? (K extends keyof A ? A[K] : undefined) : undefined;
type BodyOf<O> = O extends { requestBody?: infer B }
  ? NonNullable<B> extends { content: infer C }
    ? "application/json" extends keyof C
      ? C["application/json"]
      : BodyInit
    : undefined
  : undefined;

/** A part is required when one of its fields is, and absent when the route has none. */
type Part<K extends string, V> = [V] extends [undefined]
  ? { [N in K]?: never }
  : {} extends V
    ? { [N in K]?: V }
    : { [N in K]: V };
type BodyPart<O> = O extends { requestBody: unknown } ? Part<"body", BodyOf<O>> : { body?: BodyOf<O> };

export interface CallOptions {
  signal?: AbortSignal | undefined;
  /** Your own key in place of a random one. */
  idempotencyKey?: string | undefined;
  headers?: Record<string, string> | undefined;
}
export type OptionsOf<P extends keyof paths, M extends Method> = CallOptions &
  Part<"path", PartOf<OperationOf<P, M>, "path">> &
  Part<"query", PartOf<OperationOf<P, M>, "query">> &
  BodyPart<OperationOf<P, M>>;
/** The options can be left out when nothing in them is required. */
export type Arguments<O> = {} extends O ? [options?: O] : [options: O];

export interface HttpOptions {
  /** The daemon's address, as `http://127.0.0.1:7777`. */
  baseUrl: string;
  token?: string | undefined;
  /** How long a call is repeated after a lost connection, 429 or 503. The default is 60. */
  retrySeconds?: number | undefined;
  fetch?: typeof globalThis.fetch | undefined;
}

interface AnyOptions extends CallOptions {
  path?: object | undefined;
  query?: object | undefined;
  body?: unknown;
}

const FIRST_PAUSE = 250;
const LONGEST_PAUSE = 5000;
const BUSY = new Set([429, 503]);
const REPEATABLE = new Set(["GET", "PUT"]);

export class Http {
  readonly baseUrl: string;
  readonly #token: string | undefined;
  readonly #retryMillis: number;
  readonly #fetch: typeof globalThis.fetch;

  constructor({ baseUrl, token, retrySeconds = 60, fetch = globalThis.fetch }: HttpOptions) {
    this.baseUrl = baseUrl.endsWith("/") ? baseUrl.slice(0, -1) : baseUrl;
    this.#token = token?.trim();
    this.#retryMillis = retrySeconds * 1000;
    this.#fetch = (input, init) => fetch(input, init);
  }

  /** The subprotocols that carry the token to a WebSocket. */
  get protocols(): string[] {
    return this.#token ? ["kaged.v1", `kaged.bearer.${this.#token}`] : ["kaged.v1"];
  }

  /** Make a call and return its decoded answer. Throws `KagedError` and `ConnectionFailed`. */
  async call(method: Method, path: string, options: AnyOptions = {}): Promise<unknown> {
    const response = await this.open(method, path, options);
    if (response.status === 204) return undefined;
    if (isJson(response)) return response.json();
    return response.text();
  }

  /** As `call`, and return the response itself, for files and other content that should not be in memory. */
  async open(method: Method, path: string, options: AnyOptions = {}): Promise<Response> {
    const verb = method.toUpperCase();
    const keyed = KEYED.has(`${verb} ${path}`);
    const address = this.baseUrl + filled(path, options.path) + queryOf(options.query);
    const init = this.#request(verb, keyed, options);
    const replayable = !(options.body instanceof ReadableStream);
    const deadline = Date.now() + this.#retryMillis;
    for (let pause = FIRST_PAUSE; ; pause = Math.min(pause * 2, LONGEST_PAUSE)) {
      let wait = pause * (0.5 + Math.random() / 2);
      try {
        const response = await this.#fetch(address, init);
        if (response.ok) return response;
        wait = Math.max(wait, retryAfter(response));
        const again = replayable && BUSY.has(response.status) && Date.now() + wait < deadline;
        if (!again) throw await refusal(response);
        await response.body?.cancel();
      } catch (error) {
        if (error instanceof KagedError || options.signal?.aborted) throw error;
        const again = replayable && (keyed || REPEATABLE.has(verb)) && Date.now() + wait < deadline;
        if (!again) throw new ConnectionFailed(`The daemon at ${this.baseUrl} does not answer ${verb} ${path}. Is it running?`, { cause: error });
      }
      await sleep(wait, options.signal);
    }
  }

  #request(verb: string, keyed: boolean, { body, headers, signal, idempotencyKey }: AnyOptions): RequestInit {
    const sent = new Headers(headers);
    if (this.#token) sent.set("Authorization", `Bearer ${this.#token}`);
    // One key for all repetitions: the daemon performs the operation once.
    if (keyed) sent.set("Idempotency-Key", idempotencyKey ?? crypto.randomUUID());
    const init: RequestInit = { method: verb, headers: sent, redirect: "error", signal: signal ?? null };
    if (body === undefined) return init;
    if (isRaw(body)) {
      init.body = body;
      if (body instanceof ReadableStream) Object.assign(init, { duplex: "half" });
    } else {
      init.body = JSON.stringify(body);
      sent.set("Content-Type", "application/json");
    }
    return init;
  }
}

/** Wait, or throw the reason of the signal as soon as it is given. */
function sleep(millis: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const stopped = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stopped);
      resolve();
    }, millis);
    signal?.addEventListener("abort", stopped, { once: true });
  });
}

function filled(path: string, values: object | undefined): string {
  const given = new Map<string, unknown>(Object.entries(values ?? {}));
  return path
    .split("/")
    .map((part) => (part.startsWith("{") && part.endsWith("}") ? segment(part.slice(1, -1), given) : part))
    .join("/");
}

function segment(name: string, given: Map<string, unknown>): string {
  const value = given.get(name);
  if (value === undefined || value === "" || value === "." || value === "..") throw new TypeError(`path.${name} is missing or not valid.`);
  return encodeURIComponent(String(value));
}

function queryOf(values: object | undefined): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values ?? {})) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== undefined && one !== null) query.append(name, String(one));
    }
  }
  return query.size > 0 ? `?${query}` : "";
}

function isRaw(body: unknown): body is BodyInit {
  return (
    typeof body === "string" ||
    body instanceof Blob ||
    body instanceof ArrayBuffer ||
    ArrayBuffer.isView(body) ||
    body instanceof FormData ||
    body instanceof URLSearchParams ||
    body instanceof ReadableStream
  );
}

function isJson(response: Response): boolean {
  return (response.headers.get("Content-Type") ?? "").split(";")[0]?.trim() === "application/json";
}

/** Return the milliseconds of `Retry-After`. The daemon sends seconds. */
function retryAfter(response: Response): number {
  const seconds = Number(response.headers.get("Retry-After"));
  return Number.isFinite(seconds) && seconds > 0 ? seconds * 1000 : 0;
}

async function refusal(response: Response): Promise<KagedError> {
  const fallback = { code: "failed", message: `The daemon answered with status ${response.status}.` };
  try {
    const decoded = (await response.json()) as { error?: ErrorBody };
    return new KagedError(response.status, decoded.error ?? fallback);
  } catch {
    return new KagedError(response.status, fallback);
  }
}
