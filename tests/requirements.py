"""The requirements as data: every line that an issue asks for, by id.

A test shows a line by `@pytest.mark.requirement("R2.4.1")` (several ids are fine). A line without a
test stands in `PENDING` (work in hand) or `DEFERRED` (a later issue, with the reason). That the
three agree is checked by `tests/architecture/test_requirements.py`.
"""

from __future__ import annotations

from tests.requirements_cages import CAGES
from tests.requirements_cages import IN_HAND as CAGES_IN_HAND
from tests.requirements_debugger import DEBUGGER
from tests.requirements_harness import HARNESS
from tests.requirements_project_management import IN_HAND, PROJECT_MANAGEMENT
from tests.requirements_safety import IN_HAND as SAFETY_IN_HAND
from tests.requirements_safety import SAFETY

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
    # 3 file
    "R3.file.read.happy": "file.read: line-numbered content of a known file",
    "R3.file.read.binary": "file.read: a .png is binary with size and media type",
    "R3.file.read.window": "file.read: lines 10-20 of a 100-line file by offset and limit",
    "R3.file.read.long_line": "file.read: a line over 2,000 characters ends in the marker",
    "R3.file.read.missing": "file.read: a path that does not exist is file_not_found",
    "R3.file.read.symlink": "file.read: links are resolved, and the real path must be allowed",
    "R3.file.read.directory": "file.read: a directory lists its entries, a slash after subdirectories",
    "R3.file.read.image": "file.read: an image is image content when the model takes images",
    "R3.file.read.encoding": "file.read: encodings other than UTF-8 are detected and named",
    "R3.file.read.notebook": "file.read: a notebook is read as text",
    "R3.file.read.pdf": "file.read: a PDF is read as text, with page ranges",
    "R3.file.write.parents": "file.write: makes parent directories",
    "R3.file.write.unread": "file.write: without a read before it is file_not_read",
    "R3.file.create.exists": "file.create: an existing file is file_exists",
    "R3.file.edit.exact": "edit.text: replaces a known text",
    "R3.file.edit.multiple": "edit.text: three matches without replace_all are multiple_matches",
    "R3.file.edit.none": (
        "edit.text: a text that is not there is old_string_not_found, with the closest lines"
    ),
    "R3.file.edit.kept": "edit.text: encoding, BOM, line endings, mode, owner and links are kept",
    "R3.file.edit.stale": "a file that changed between read and edit is file_changed_since_read",
    "R3.file.edit.busy": "a file that another call writes for over 5 s is file_busy",
    "R3.file.crowd": "40 agents editing 200 files: no lost update, no torn file, every conflict named",
    # 3 grep
    "R3.grep.regex": "search.grep: TODO gives the matching lines",
    "R3.grep.filter": "search.grep: *.ts gives no .js results",
    "R3.grep.timeout": "search.grep: a pathological search ends at its time limit with partial results",
    "R3.grep.modes": "search.grep: content, files_with_matches and count, with context lines",
    "R3.grep.cap": "search.grep: 256 KB cap and head_limit set truncated; the whole goes to a sidecar",
    "R3.grep.ignore": "search.grep: gitignore is respected, binary files are skipped",
    "R3.grep.options": "search.grep: a pattern, path or glob is never taken as an option",
    "R3.grep.engines": "search.grep: the packaged ripgrep and the system's rg give the same results",
    "R3.grep.outside": (
        "search.grep: matches outside the cage have no content, or are dropped by outside: none"
    ),
    # 3 glob
    "R3.glob.pattern": "search.glob: **/*.test.ts gives only test files",
    "R3.glob.order": "search.glob: newest first, 100 files, truncated beyond",
    "R3.glob.ignore": "search.glob: gitignore is respected",
    "R3.glob.timeout": "search.glob: ends at its time limit with partial results",
    # 3 ast
    "R3.ast.search": "search.ast: console.log($MSG) with the captured MSG",
    "R3.ast.multiple": "search.ast: $$$ captures several nodes",
    "R3.ast.invalid": "search.ast and edit.ast: an unparseable pattern is invalid_pattern",
    "R3.ast.context": "search.ast: context lines, globs, paths, positions in lines and bytes",
    "R3.ast.preview": "edit.ast: a dry run changes nothing and lists the changes",
    "R3.ast.apply": "edit.ast: dry_run false writes the files",
    "R3.ast.paths": "edit.ast: a single file touches only that file, a directory all matching files",
    "R3.ast.language": "edit.ast: the language is inferred, or the mixture is an error",
    "R3.ast.max_replacements": "edit.ast: max_replacements 1 of 3 sets limit_reached",
    "R3.ast.max_files": "edit.ast: max_files 1 of 2 sets limit_reached",
    "R3.ast.traversal": "edit.ast: ../../etc is refused",
    "R3.ast.parse_errors": "edit.ast: files that do not parse are collected, the others are changed",
    "R3.ast.overlap": "edit.ast: overlapping matches never corrupt a file",
    "R3.ast.atomic": "edit.ast: all files are written, or none",
    # 3 shell
    "R3.shell.happy": "shell.bash: echo hello",
    "R3.shell.exit": "shell.bash: exit 42 is data, not an error",
    "R3.shell.cwd": "shell.bash: cwd below the project",
    "R3.shell.cwd_escape": "shell.bash: cwd ../../ is invalid_params",
    "R3.shell.timeout": "shell.bash: sleep 60 with timeout 2000 is timed_out, exit code 137",
    "R3.shell.clamp_low": "shell.bash: timeout 500 is clamped to 1000",
    "R3.shell.clamp_high": "shell.bash: timeout 999999 is clamped to 600000",
    "R3.shell.empty": "shell.bash: an empty command is invalid_params",
    "R3.shell.env": "shell.bash: env entries are merged over the daemon's",
    "R3.shell.env_invalid": "shell.bash: an empty or = key in env is invalid_params",
    "R3.shell.truncation": "shell.bash: over 1 MB is cut with the marker",
    "R3.shell.spawn": "shell.bash: a command that cannot be started is an error that says why",
    "R3.shell.stream": (
        "shell.bash: output is streamed as tool.progress, ANSI kept there and stripped for the model"
    ),
    "R3.shell.group": (
        "shell.bash: the timeout kills everything the command started, also what ignores SIGTERM"
    ),
    "R3.shell.background": "commands that outlive their call are listed, read and stopped",
    "R3.shell.terminal": "shell.bash: terminal size and TERM are sane",
    "R3.shell.torture": (
        "1,000 commands of all kinds: no zombie, no leaked descriptor or terminal, bounded memory"
    ),
    # 3 calc
    "R3.calc.grammar": "compute.calc: operators, parentheses, unary signs, precedence",
    "R3.calc.power": "compute.calc: 2**3**2 is 512",
    "R3.calc.literals": "compute.calc: hexadecimal, binary, octal, exponents",
    "R3.calc.exact": "compute.calc: exact integers, decimals without binary surprises",
    "R3.calc.bounded": "compute.calc: a tower of powers is an error at once",
    "R3.calc.several": "compute.calc: several calculations, each with its own error; prefix and suffix",
    # 3 recipe
    "R3.recipe.detect": "project.recipe: npm, bun, cargo, poetry, pdm, uv, make, just and task are detected",
    "R3.recipe.tasks": "project.recipe: available_tasks is always there",
    "R3.recipe.run": "project.recipe: runs through shell.bash, with its permissions",
    "R3.recipe.unknown": "project.recipe: an unknown op names the available tasks",
    # 3 locked
    "R3.locked.shapes": "read, write, edit, glob, grep, bash, todo have exactly the contract's parameters",
    "R3.locked.caps": "the contract's caps: 200 KB, 1,000 entries, 200 matches, with a sidecar",
    "R3.locked.same": "a locked tool and its dotted one share the implementation, reads included",
    "R3.locked.todo": "todo: a list in the session, kept over a restart",
    "R3.locked.task": "task: delegation by the contract's shape",
    "R3.locked.question": "question: structured questions to a human, refused without one",
    # 3 meta
    "R3.meta.schemas": (
        "every tool has JSON Schemas of parameters and result, a description, title, hints, ACP kind, version"
    ),
    "R3.meta.effects": "effects decide what runs side by side",
    "R3.meta.envelope": "one envelope for every tool, errors included; schema failures are tool errors",
    "R3.meta.abort": "a cancelled call stops its work",
    "R3.meta.unknown": "an unknown tool is tool_not_found (-32601), bad arguments invalid_params (-32602)",
    # 3 permit
    "R3.permit.scope": "principal scope comes first",
    "R3.permit.read_cage": "cage read enforcement: ./src may be read, ./data is denied",
    "R3.permit.write_cage": "cage write enforcement: ro is not rw",
    "R3.permit.uncaged": "the primary has no cage: every path of the project",
    "R3.permit.capability": "shell, exec, seccomp and network requirements are checked against the cage",
    "R3.permit.variables": (
        "{workspace}, {ad-hoc}, {user-data} expand; empty fails closed; unknown is a compile error"
    ),
    "R3.permit.rules": "rules of manifest, session and project: most specific wins, a manifest deny stays",
    "R3.permit.compound": "compound shell commands are judged part by part",
    "R3.permit.ask": "ask: the operator answers once, always or reject; headless it is deny",
    "R3.permit.watchdog": (
        "the watchdog denies or asks for destructive and exfiltrating commands, with the reason"
    ),
    "R3.permit.order": "the layers run in this order, each a unit of its own",
    "R3.permit.denial": "a denial carries code and what would be needed",
    "R3.permit.routes": "permission rules over REST, for projects and sessions",
    "R3.permit.paths": (
        "hard links, /proc/self, case, trailing dots, NUL, .., prefix twins and devices are handled"
    ),
    "R3.permit.race": "a symlink swapped between check and use does not escape",
    "R3.permit.protected": ".git internals, .kaged and the data folder are closed to caged callers",
    # 3 audit
    "R3.audit.called": "tool.called, tool.completed, tool.denied with the source's fields, redacted",
    "R3.audit.files": "file.written and file.edited",
    "R3.audit.shell": "shell.executed with the command cut at 200 characters",
    "R3.audit.query": "GET /audit finds them by filters",
    # 3 fuzz
    "R3.fuzz.parameters": (
        "a fuzz of each tool's parameters: no unhandled exception, no change on disk after an error"
    ),
    # 3 bench
    "R3.bench.figures": (
        "benchmarks of grep, glob, ast, read, edit, shell and dispatch print ratios in one run"
    ),
    # 4 positions and edits
    "R4.positions.encodings": (
        "columns in code points are converted by UTF-8, 16 and 32, also behind emoji, combining marks, tabs"
    ),
    "R4.edits.protocol": "documentChanges, versions, create, rename, delete and annotations are respected",
    "R4.edits.transaction": "edits, creates, renames and deletes are applied as one, or all are taken back",
    "R4.edits.scope": "every path of an edit outside the caller's cage is listed, and nothing is written",
    # 4 processes and conversations
    "R4.processes.killed": "a killed daemon leaves no process behind",
    "R4.peer.hostile": "a counterpart that sends garbage, floods, or does not read does no harm",
    "R4.peer.cancel": "a cancelled request tells the server, and its late answer is dropped",
    # 4 lives of language servers
    "R4.lifecycle.spawn": "one server for each project, language and root, started by the first use only",
    "R4.lifecycle.idle": "an idle server is stopped, a busy one never, and starts anew at the next use",
    "R4.lifecycle.crash": "a crash is answered by a new server, three times, then not until a reload",
    "R4.lifecycle.hang": "what is not answered in time is cancelled, and the server killed and begun anew",
    "R4.lifecycle.stop": "however a server takes its end, it and all that it started are gone",
    "R4.lifecycle.memory": "a server beyond its memory is begun anew",
    "R4.lifecycle.close": "closing at any moment ends everything, and whoever waits is told",
    "R4.lifecycle.shared": "identical requests are shared; a caller that goes takes only its own part along",
    "R4.lifecycle.real": "a real server is stopped when idle and started anew",
    "R4.lifecycle.kills": "kills at random moments lose no edit, answer nothing wrong, leave no process",
    "R4.lifecycle.leak": "starting and stopping over and over leaves nothing behind",
    "R4.hostile.harm": "a server that floods, grows, sends garbage or wrong types does no harm",
    "R4.hostile.requests": "what a server asks is answered properly, and nothing is written for it",
    "R4.hostile.watched": "patterns of files to be told of match as editors do, in bounded time",
    "R4.audit.events": "servers spawned, crashed and stopped are in the audit trail",
    "R4.freshness.edit": "diagnostics after an edit by anyone are for the new content",
    "R4.freshness.files": "new, deleted, replaced and other files' changes show at once",
    "R4.freshness.headers": "diagnostics of C++ are for the headers as they are, or not called fresh",
    "R4.freshness.ignored": "installed packages and generated code count, though they are ignored",
    "R4.freshness.rounds": "a thousand edits, each followed by diagnostics: none is stale",
    "R4.ready.references": "the first references of a cold server are complete",
    # 4 watch
    "R4.freshness.incremental": "a change is sent as the lines that changed, right in every encoding",
    "R4.watch.exact": "changes on disk by anyone are known to the next query, or it is told that not",
    # 4 tool
    "R4.tool.spawn": "a server is spawned on demand and recorded",
    "R4.tool.diagnostics": "diagnostics of a file, by severity, at the right place",
    "R4.tool.fresh": "diagnostics are for the present content, or say that they are not",
    "R4.tool.folder": "diagnostics of a folder: its languages' files, bounded, with what has no answer",
    "R4.tool.definition": "definition, type_definition and implementation",
    "R4.tool.references": "references find all usages",
    "R4.tool.hover": "hover: type and documentation",
    "R4.tool.symbols": "the outline of a file and the search in the project",
    "R4.tool.positions": "lines from 1, columns in characters from 0, checked against the file",
    "R4.tool.symbol": "a symbol on a line stands for its column; an ambiguous one lists its places",
    "R4.tool.bounds": "results are sorted and bounded, paged, and whole in a file",
    "R4.tool.errors": "each failure has its code and says what to do",
    "R4.tool.rename": "a rename changes all files or none, for what is on disk",
    "R4.tool.rename_file": "a file moves together with the corrections of what refers to it",
    "R4.tool.rename_cage": "a rename that reaches beyond the cage changes nothing and lists the files",
    "R4.tool.confirm": "what the server wants confirmed is done only when it is",
    "R4.tool.code_actions": "code actions with their edits, commands by name",
    "R4.tool.cage": "outside the cage: path and line; outside none: nothing; never content",
    "R4.tool.request": "request sends what reads, never what would break the server or write",
    "R4.tool.request_cage": "a caged caller requests only what reads its own file",
    "R4.tool.capabilities": "capabilities say which actions a server can do",
    "R4.tool.status": "status tells installed, starting, ready, crashed and stopped servers apart; reload",
    "R4.tool.crash": "a crashed server is restarted, and the next call succeeds",
    "R4.tool.idle": "an idle server is stopped and started again",
    "R4.tool.python": "Python works without any further install",
    "R4.tool.untrusted": "answers of any shape and size do no harm",
    "R4.tool.actions": "each action can be enabled, disabled and ruled by itself",
    # 4 servers
    "R4.servers.table": "languages with servers, endings, identifiers, root markers and install hints",
    "R4.servers.order": "project file, local config, built-in table; candidates in order; Python is packaged",
    "R4.servers.declared": "what the project file and the local config declare holds",
    "R4.servers.absent": "a server that is not found: what was tried, and how to install it on this system",
    "R4.servers.rustup": "a rust-analyzer that is only a proxy is told apart",
    "R4.servers.typescript": "TypeScript 7 is a server; a project's own TypeScript is not run unasked",
    "R4.servers.untrusted": "no program is taken from the project or from a relative place",
    "R4.servers.listed": "the doctor and a project's capabilities list every language",
    # 4 after an edit
    "R4.after_edit.new": "the errors that an edit introduced are appended to its result, old ones are not",
    "R4.after_edit.baseline": "what was wrong before is known, or it is said that errors may be older",
    "R4.after_edit.others": "errors that the edit introduced in other open files, within the caller's cage",
    "R4.after_edit.bounds": "at most 2 s for all edits of a step, and 10 entries",
    "R4.after_edit.late": "late findings are a note at the next step; no answer is never shown as clean",
    "R4.after_edit.robust": "no server and no cancellation loses the result of an edit",
    "R4.after_edit.who": "after every tool that writes, for agents that may ask for diagnostics",
    "R4.after_edit.off": "on by default, off by the project file",
    "R4.after_edit.real": "with real servers for Python and TypeScript",
    "R4.after_edit.run": "the model is sent the errors with the result, and the note at its next step",
    # 4 every real server
    "R4.real.pyright": "every action with pyright",
    "R4.real.basedpyright": "every action with basedpyright",
    "R4.real.typescript-language-server": "every action with typescript-language-server",
    "R4.real.typescript-7": "every action with TypeScript 7",
    "R4.real.gopls": "every action with gopls",
    "R4.real.rust-analyzer": "every action with rust-analyzer",
    "R4.real.clangd": "every action with clangd",
    "R4.real.bash": "every action with bash-language-server",
    "R4.real.yaml": "every action with yaml-language-server",
    "R4.real.json": "every action with vscode-json-language-server",
    "R4.real.css": "every action with vscode-css-language-server",
    "R4.real.html": "every action with vscode-html-language-server",
    **DEBUGGER,
    **HARNESS,
    **PROJECT_MANAGEMENT,
    **CAGES,
    **SAFETY,
}

DEFERRED: dict[str, str] = {}
"""Id to why a later issue shows it."""

PENDING: dict[str, str] = {**IN_HAND, **CAGES_IN_HAND, **SAFETY_IN_HAND}
"""Id to why it has no test at this moment; empty when the issue is resolved."""
