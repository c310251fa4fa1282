/** What goes wrong: errors of the daemon, of the network, and a question that nobody answers. */

/** The codes of docs/api.md, and those of a newer daemon. */
export type ErrorCode =
  | "bad_request"
  | "validation_failed"
  | "unauthenticated"
  | "forbidden"
  | "not_found"
  | "method_not_allowed"
  | "request_too_slow"
  | "conflict"
  | "project_untrusted"
  | "gone"
  | "payload_too_large"
  | "dsl_invalid"
  | "rate_limited"
  | "internal"
  | "unavailable"
  | "insufficient_storage"
  | (string & {});

export interface ErrorBody {
  code: ErrorCode;
  message: string;
  details?: Record<string, unknown>;
  request_id?: string;
}

/** The daemon refused a request, or closed a stream for good. `code` and `reason` are the daemon's. */
export class KagedError extends Error {
  readonly status: number;
  readonly code: ErrorCode;
  readonly details: Record<string, unknown>;
  readonly requestId: string | undefined;

  constructor(status: number, body: ErrorBody) {
    super(body.message);
    this.name = "KagedError";
    this.status = status;
    this.code = body.code;
    this.details = body.details ?? {};
    this.requestId = body.request_id;
  }

  /** A more specific code, as `run_in_progress`. */
  get reason(): string | undefined {
    const { reason } = this.details;
    return typeof reason === "string" ? reason : undefined;
  }
}

/** The daemon did not answer. Whether it received the request is unknown. */
export class ConnectionFailed extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "ConnectionFailed";
  }
}

/** `run` met a question and has no `onQuestion`. The question stays open. */
export class AnswerNeeded extends Error {
  readonly interactionId: string;

  constructor(interactionId: string) {
    super(`The run waits for an answer to ${interactionId}.`);
    this.name = "AnswerNeeded";
    this.interactionId = interactionId;
  }
}
