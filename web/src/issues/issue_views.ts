// The views of issues, in one file: whoever opens one of them soon opens another.

import "./issue_pages.css";

export { IssueFiling } from "./filing.ts";
export { IssueList } from "./issue_list.ts";
export { IssuePage } from "./issue_page.ts";
