export { createKaged, Kaged } from "./client.js";
export type { Answer, KagedOptions, ListPaths, Question, RunOptions, RunResult, Schemas } from "./client.js";
export { AnswerNeeded, ConnectionFailed, KagedError } from "./errors.js";
export type { ErrorCode } from "./errors.js";
export type { FollowOptions, KagedEvent, UnknownEvent } from "./follow.js";
export type { KnownEvent } from "./generated/events.js";
export type { paths } from "./generated/routes.js";
export { Stream } from "./stream.js";
export type { Frame, StreamOptions } from "./stream.js";
