// The views of issues, in one file: whoever opens one of them soon opens another.

import "./issue_pages.css";

export { IssueFiling } from "./issue_filing.js";
export { IssueList } from "./issue_list.js";
export { IssuePage } from "./issue_page.js";
