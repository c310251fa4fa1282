"""The command line and the page."""

from __future__ import annotations

CLIENTS: dict[str, str] = {
    "command_line.serve": (
        "kaged serve: flags, exactly one ready line with --json, SIGTERM drains, a second one stops"
    ),
    "command_line.send": "kaged send streams the answer with tool calls shown compactly; Ctrl-C cancels",
    "command_line.attach": "kaged attach follows a session",
    "command_line.session": "kaged session list, export, import",
    "command_line.doctor": "kaged doctor says what is present and how to install what is not",
    "command_line.db": "kaged db upgrade, backup, restore, check",
    "command_line.openapi": "kaged openapi prints the committed documents",
    "command_line.token": "kaged token create, list, revoke",
    "command_line.exits": "every command has --json and exits 0, 1 or 2",
    "command_line.discovery": "commands find a running daemon by its data folder",
    "command_line.issue": "kaged issue: everything that REST can",
    "command_line.run": "kaged run starts a workflow and follows it",
    "command_line.answer": "questions are answered from the command line",
    "acp.session": "an editor has sessions by ACP: prompts, updates, questions, options",
    "acp.load": "an editor loads a session of 1,000 messages",
    "acp.permission": "an editor asks for permission, or somebody answers elsewhere; a cancel ends it",
    "acp.failures": "an editor gets clear errors, also when the daemon or the editor ends",
    "mcp.server.tools": "MCP clients get an agent's tools by handle, with its permissions and in its cage",
    "mcp.server.consent": "calls of MCP clients that need consent ask the user, or the operator for 60 s",
    "mcp.server.agent": "ask_agent runs the root agent, with progress, questions and cancellation",
    "mcp.server.stdio": "kaged mcp serves over standard input and output, with a session of its own",
    "mcp.server.hostile": "hostile clients of /mcp are refused, and cannot reach what is others'",
    "mcp.server.sdks": "the official clients of other languages work",
    "page.issues": "issues, checklists and their sign-off in the web page",
    "page.questions": "questions and forms are answered in the web page",
    "page.workflows": "workflows are started and followed in the web page",
    "usability.page": "the page shows failures and overflows nowhere",
    "usability.commands": "the command line says what it means",
    "usability.make": "make says what it is doing",
    "usability.tools": "small answers of tools are right",
    "story": "an issue from its filing to its resolution, with the whole of it in the audit",
}
