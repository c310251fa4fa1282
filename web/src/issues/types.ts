// What the views of issues share.

import type { Schemas } from "../api.ts";

export type Issue = Schemas["IssueDetailAnswer"];
export type Status = Issue["status"];
export type Todo = Schemas["TodoAnswer"];

/** What the parts of an issue's page are given. */
export interface PartGiven {
  /** The address of the issue in the interface. */
  path: string;
  project: string;
  number: number;
  onError: (error: unknown) => void;
  /** Reads the issue again. */
  onChanged: () => Promise<unknown>;
}
