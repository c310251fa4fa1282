// What the views of workflows share.

import type { Schemas } from "../api.ts";

export type Workflow = Schemas["WorkflowAnswer"];
export type Run = Schemas["WorkflowRunAnswer"];
/** A run in a list: without what went in and came out. */
export type ListedRun = Schemas["WorkflowRunSummary"];
