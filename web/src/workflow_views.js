// The views of workflows, in one file: whoever opens one of them soon opens another.

import "./workflows.css";

export { WorkflowList } from "./workflow_list.js";
export { WorkflowPage } from "./workflow_page.js";
export { WorkflowRunPage } from "./workflow_run_page.js";
