// The views of workflows, in one file: whoever opens one of them soon opens another.

import "./workflows.css";

export { WorkflowRunPage } from "./run_page.ts";
export { WorkflowList } from "./workflow_list.ts";
export { WorkflowPage } from "./workflow_page.ts";
