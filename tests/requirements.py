"""The requirements as data: every line that an issue asks for, by id.

A test shows a line by `@pytest.mark.requirement("R2.4.1")` (several ids are fine). A line without a
test stands in `PENDING` (work in hand) or `DEFERRED` (a later issue, with the reason). That the
three agree is checked by `tests/architecture/test_requirements.py`.
"""

from __future__ import annotations

REQUIREMENTS: dict[str, str] = {
    # 1 Repository
    "R2.1.1": "pyproject.toml with hatchling and the console script `kaged`",
    "R2.1.2": "a lock file with hashes that names no host",
    "R2.1.3": "make setup, run, test, lint, bench, openapi; run and test call setup",
    "R2.1.4": ".ci/run installs system packages, lints and tests",
    "R2.1.5": "README opens with the two commands; dependencies, changelog, contributing, MIT license",
    "R2.1.6": "import rules between the floors",
    "R2.1.7": "strict type checking of app/, formatter and linter",
    "R2.1.8": "sizes, names and banned calls are checked by tests",
    # 2 Project file
    "R2.2.1": "the whole schema is parsed strictly; unknown, duplicate and removed keys are named",
    "R2.2.2": "every diagnostic has file, line and column, and all come at once (ten mistakes, ten findings)",
    "R2.2.3": "one recursive AgentSpec for agents at every depth",
    "R2.2.4": "overlay: local file and injected overrides merge, lists replace, null removes",
    "R2.2.5": "references are flattened; cycles, diamonds, depth and missing files are handled",
    "R2.2.6": "tools are resolved for each agent with where each state came from",
    "R2.2.7": "the synthesized endpoint shows every default and every tool",
    "R2.2.8": "a JSON Schema of the project file is generated",
    "R2.2.9": "hot reload of project and prompts; a file that no longer compiles leaves the last good one",
    "R2.2.10": "kaged init writes a starter that compiles; kaged check prints diagnostics",
    "R2.2.11": "sections of later subsystems (lsp, dap, plugins, workflows, compaction) are validated",
    # 3 Storage
    "R2.3.1": "every table of this issue is made by alembic, and models and migrations agree",
    "R2.3.2": "SQLite embedded by default",
    "R2.3.3": "PostgreSQL by URL, against a real server",
    "R2.3.4": "one writer with group commit",
    "R2.3.5": "a backup is made before a migration; a newer schema is refused",
    # 4 Providers
    "R2.4.1": "aliases and fallback chains; fallback only before the first delta",
    "R2.4.2": "credentials by key, by variable name and by reference; a missing one is named",
    "R2.4.3": "driver openai: chat completions and compatible servers",
    "R2.4.4": "driver openai-responses",
    "R2.4.5": "driver anthropic",
    "R2.4.6": "driver google",
    "R2.4.7": "text, thinking and parallel tool calls are streamed by every driver",
    "R2.4.8": "usage with cache and reasoning tokens, normalised",
    "R2.4.9": "cost and context window from the offline table; unknown is null",
    "R2.4.10": "errors are classified: rate limit, overload, auth, context length, network, bad request",
    "R2.4.11": "retry with back-off honours Retry-After",
    "R2.4.12": "POST /providers/{name}/test makes one real call",
    "R2.4.13": "driver replay plays a transcript deterministically",
    "R2.4.14": "kaged record writes a transcript from a real session that replays",
    "R2.4.15": "a stream without a finish reason is an error (mid-stream disconnect)",
    # 5 Agent loop
    "R2.5.1": "steps and tool calls; read-only calls run concurrently, results come in the order asked",
    "R2.5.2": "stop reasons, max_steps and max_output_tokens",
    "R2.5.3": "budgets in tokens, cost and time",
    "R2.5.4": "cancel reaches the HTTP connection within 100 ms and keeps the partial output",
    "R2.5.5": "the processor pipeline: what leaves it is exactly what the provider receives",
    "R2.5.6": "message.start, delta, tool_call, tool_result, end with all statistics",
    "R2.5.7": "malformed tool arguments, an unknown tool and a tool that raises become tool errors",
    # 6 Tools
    "R2.6.1": "file.read",
    "R2.6.2": "file.write",
    "R2.6.3": "file.create",
    "R2.6.4": "edit.text",
    "R2.6.5": "one dispatch: resolve, validate, authorise, execute, envelope, audit",
    # 7 Sessions and HTTP
    "R2.7.1": "sessions: create, list, rename, archive, delete",
    "R2.7.2": "posting answers 201 once message and run are stored",
    "R2.7.3": "messages posted while a run is active are queued, steered or rejected",
    "R2.7.4": "runs, steps and tool calls can be read; cancel",
    "R2.7.5": "tool listing and direct tool call",
    "R2.7.6": "projects, providers, prompts and audit routes",
    "R2.7.7": "access modes token, proxy and insecure",
    "R2.7.8": "Host, Origin and CSRF rules",
    "R2.7.9": "one error body for every status",
    "R2.7.10": "idempotency keys",
    "R2.7.11": "pagination",
    "R2.7.12": "the OpenAPI document is complete, committed and current",
    # 8 WebSocket
    "R2.8.1": "sync comes first, then the durable frames after after_seq, then live frames",
    "R2.8.2": "a client that joins in the middle of a message gets a snapshot",
    "R2.8.3": "after_seq across reconnects and daemon restarts: nothing twice, nothing missing",
    "R2.8.4": "bounded queues merge deltas; close code 4008, never a dropped durable frame",
    "R2.8.5": "close codes 4401, 4403, 4404, 4408, 1012",
    "R2.8.6": "heartbeat, ping, ack, subscribe, cancel and pause",
    "R2.8.7": "100 clients, ten stalled, three reconnecting: the others see every event once, in order",
    # 9 Crash safety
    "R2.9.1": "killed at 200 random moments: no acknowledged message, result or event is lost or doubled",
    "R2.9.2": "after a restart runs are interrupted, calls have error results, the session is resumable",
    # 10 Command line
    "R2.10.1": "kaged serve: flags, exactly one ready line with --json, SIGTERM drains, a second one stops",
    "R2.10.2": "kaged send streams the answer with tool calls shown compactly; Ctrl-C cancels",
    "R2.10.3": "kaged attach follows a session",
    "R2.10.4": "kaged session list, export, import",
    "R2.10.5": "kaged doctor says what is present and how to install what is not",
    "R2.10.6": "kaged db upgrade, backup, restore, check",
    "R2.10.7": "kaged openapi prints the committed documents",
    "R2.10.8": "kaged token create, list, revoke",
    "R2.10.9": "every command has --json and exits 0, 1 or 2",
    "R2.10.10": "commands find a running daemon by its data folder",
    # 11 Demo
    "R2.11.1": "the demo project has a failing test, and the replayed agent reads, finds, edits and explains",
    # Shown by
    "R2.12.1": "the session machine holds under random events",
    "R2.12.2": "a 30-second stall is cancelled at once",
    "R2.12.3": "429 with Retry-After, and 500 then success",
    "R2.12.4": "context-length errors of each provider",
    # Bad input
    "R2.13.1": "unknown session",
    "R2.13.2": "wrong state",
    "R2.13.3": "a body of 20 MB",
    "R2.13.4": "invalid UTF-8",
    "R2.13.5": "a path with NUL",
    "R2.13.6": "an expired token",
    "R2.13.7": "a foreign Origin",
    "R2.13.8": "two daemons on one data folder: the second refuses, naming the first",
}

DEFERRED: dict[str, str] = {}
"""Id to why a later issue shows it."""

PENDING: dict[str, str] = {}
"""Id to why it has no test at this moment; empty when the issue is resolved."""
