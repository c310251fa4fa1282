"""Code intelligence."""

from __future__ import annotations

LANGUAGE_SERVERS: dict[str, str] = {
    "language_servers.positions.encodings": (
        "columns in code points are converted by UTF-8, 16 and 32, also behind emoji, combining marks, tabs"
    ),
    "language_servers.edits.protocol": (
        "documentChanges, versions, create, rename, delete and annotations are respected"
    ),
    "language_servers.edits.transaction": (
        "edits, creates, renames and deletes are applied as one, or all are taken back"
    ),
    "language_servers.edits.scope": (
        "every path of an edit outside the caller's cage is listed, and nothing is written"
    ),
    "language_servers.protocol_types": "messages, edits and numbers are those of the protocol's own types",
    "language_servers.processes.killed": "a killed daemon leaves no process behind",
    "language_servers.peer.hostile": (
        "a counterpart that sends garbage, floods, or does not read does no harm"
    ),
    "language_servers.peer.cancel": "a cancelled request tells the server, and its late answer is dropped",
    "language_servers.lifecycle.spawn": (
        "one server for each project, language and root, started by the first use only"
    ),
    "language_servers.lifecycle.idle": (
        "an idle server is stopped, a busy one never, and restarts at the next use"
    ),
    "language_servers.lifecycle.crash": (
        "a crash is answered by a new server, three times, then not until a reload"
    ),
    "language_servers.lifecycle.hang": (
        "what is not answered in time is cancelled, and the server killed and restarted"
    ),
    "language_servers.lifecycle.stop": "however a server takes its end, it and all that it started are gone",
    "language_servers.lifecycle.memory": "a server beyond its memory is restarted",
    "language_servers.lifecycle.close": "closing at any moment ends everything, and every wait",
    "language_servers.lifecycle.shared": (
        "identical requests are shared; a caller that goes takes only its own part along"
    ),
    "language_servers.lifecycle.real": "a real server is stopped when idle and restarted",
    "language_servers.lifecycle.kills": (
        "kills at random moments lose no edit, answer nothing wrong, leave no process"
    ),
    "language_servers.lifecycle.companion": (
        "two servers that work together are one to their users, and neither outlives the other"
    ),
    "language_servers.lifecycle.leak": "starting and stopping over and over leaves nothing behind",
    "language_servers.hostile.harm": "a server that floods, grows, sends garbage or wrong types does no harm",
    "language_servers.hostile.requests": (
        "what a server asks is answered properly, and nothing is written for it"
    ),
    "language_servers.hostile.watched": ("patterns of watched files match as editors do, in bounded time"),
    "language_servers.audit.events": "servers spawned, crashed and stopped are in the audit trail",
    "language_servers.freshness.edit": "diagnostics after an edit by anyone are for the new content",
    "language_servers.freshness.files": "new, deleted, replaced and other files' changes show at once",
    "language_servers.freshness.headers": (
        "diagnostics of C++ are for the headers as they are, or not called fresh"
    ),
    "language_servers.freshness.failed_check": (
        "a build that ends by failure is no answer for the present content; Rust builds in the cage's home"
    ),
    "language_servers.monorepos.units": "packages, modules and crates are distinguished, workspaces joined",
    "language_servers.monorepos.references": "references and implementations reach the packages beside",
    "language_servers.monorepos.rename": "a rename reaches the packages beside, cold, warm, from any place",
    "language_servers.monorepos.rename_file": "a moved file takes the imports of packages beside along",
    "language_servers.monorepos.refused": (
        "a rename that no server can make whole is refused, with a list and a digest that overrides it"
    ),
    "language_servers.monorepos.counted": "comments, strings and other languages are counted, never block",
    "language_servers.monorepos.left_out": (
        "files that the build of their own package leaves out are found and renamed, or a rename is refused"
    ),
    "language_servers.monorepos.through": (
        "packages that know a declaration through another package are found and renamed"
    ),
    "language_servers.monorepos.cage": "a caged agent renames no half, and hears of nothing outside its cage",
    "language_servers.monorepos.checked": "after a rename that was accepted the packages still type-check",
    "language_servers.tool.shorthands": "a name that is a property and a variable at once is written out",
    "language_servers.tool.rename_checked": (
        "a rename that would leave errors is refused, with the errors and a digest that overrides it"
    ),
    "language_servers.preview.shown": "a server finds the errors of contents that are not written",
    "language_servers.preview.alone": "who asks a server during a preview is answered for what is on disk",
    "language_servers.preview.given_back": (
        "after a preview a server has the files as on disk: also after a cancellation, silence or its death"
    ),
    "language_servers.tool.check_changes": (
        "the errors that are new against the last commit, in changed files and those that import them"
    ),
    "language_servers.tool.name_path": "a path of names, Class.method, stands for a position",
    "language_servers.tool.call_hierarchy": "who calls whom, some steps far, also from packages beside",
    "language_servers.tool.type_hierarchy": "the types below and above a type",
    "language_servers.tool.syntax_symbols": "files without a server have symbols by syntax tree, and say so",
    "language_servers.tool.problem": "each answer says what the server complains of",
    "language_servers.freshness.new_file": "a file that was just created is in the references",
    "language_servers.freshness.ignored": (
        "installed packages and generated code count, though they are ignored"
    ),
    "language_servers.freshness.rounds": "a thousand edits, each followed by diagnostics: none is stale",
    "language_servers.ready.first_load": "a first load may take long, and says how far it is",
    "language_servers.ready.references": "the first references of a cold server are complete",
    "language_servers.freshness.incremental": (
        "a change is sent as the lines that changed, right in every encoding"
    ),
    "language_servers.watch.exact": (
        "changes on disk by anyone are known to the next query, or it says that they are not"
    ),
    "language_servers.tool.spawn": "a server is spawned on demand and recorded",
    "language_servers.tool.diagnostics": "diagnostics of a file, by severity, at the right place",
    "language_servers.tool.fresh": "diagnostics are for the present content, or say that they are not",
    "language_servers.tool.folder": (
        "diagnostics of a folder: its languages' files, bounded, with what has no answer"
    ),
    "language_servers.tool.whole_project": (
        "many files are looked at as a whole, within bounds, and those not looked at are named"
    ),
    "language_servers.tool.definition": "definition, type_definition and implementation",
    "language_servers.tool.references": "references find all usages",
    "language_servers.tool.hover": "hover: type and documentation",
    "language_servers.tool.symbols": "the outline of a file and the search in the project",
    "language_servers.tool.positions": "lines from 1, columns in characters from 0, checked against the file",
    "language_servers.tool.symbol": (
        "a symbol on a line stands for its column; an ambiguous one lists its places"
    ),
    "language_servers.tool.bounds": "results are sorted and bounded, paged, and whole in a file",
    "language_servers.tool.errors": "each failure has its code and says what to do",
    "language_servers.tool.rename": "a rename changes all files or none, for what is on disk",
    "language_servers.tool.rename_file": "a file moves together with the corrections of what refers to it",
    "language_servers.tool.rename_cage": (
        "a rename that reaches beyond the cage changes nothing and lists the files"
    ),
    "language_servers.tool.confirm": "what the server wants confirmed is done only when it is",
    "language_servers.tool.code_actions": "code actions with their edits, commands by name",
    "language_servers.tool.cage": "outside the cage: path and line; outside none: nothing; never content",
    "language_servers.tool.request": "request sends what reads, never what would break the server or write",
    "language_servers.tool.request_cage": "a caged caller requests only what reads its own file",
    "language_servers.tool.capabilities": "capabilities say which actions a server can do",
    "language_servers.tool.status": (
        "status tells installed, starting, ready, crashed and stopped servers apart; reload"
    ),
    "language_servers.tool.crash": "a crashed server is restarted, and the next call succeeds",
    "language_servers.tool.idle": "an idle server is stopped and started again",
    "language_servers.tool.python": "Python works without any further install",
    "language_servers.tool.untrusted": "answers of any shape and size do no harm",
    "language_servers.tool.actions": "each action can be enabled, disabled and ruled by itself",
    "language_servers.servers.table": (
        "languages with servers, endings, identifiers, root markers and install hints"
    ),
    "language_servers.servers.order": (
        "project file, local config, built-in table; candidates in order; Python is packaged"
    ),
    "language_servers.servers.declared": "what the project file and the local config declare holds",
    "language_servers.servers.absent": (
        "a server that is not found: what was tried, and how to install it on this system"
    ),
    "language_servers.servers.rustup": "a rust-analyzer that is only a proxy is recognised",
    "language_servers.servers.typescript": (
        "TypeScript 7 is a server; a project's own TypeScript is not run unasked"
    ),
    "language_servers.servers.untrusted": "no program is taken from the project or from a relative place",
    "language_servers.servers.listed": "the doctor and a project's capabilities list every language",
    "language_servers.after_edit.new": (
        "the errors that an edit introduced are appended to its result, old ones are not"
    ),
    "language_servers.after_edit.baseline": (
        "what was wrong before is known, or it is said that errors may be older"
    ),
    "language_servers.after_edit.others": (
        "errors that the edit introduced in other open files, within the caller's cage"
    ),
    "language_servers.after_edit.bounds": "at most 2 s for all edits of a step, and 10 entries",
    "language_servers.after_edit.late": (
        "late findings are a note at the next step; no answer is never shown as clean"
    ),
    "language_servers.after_edit.robust": "no server and no cancellation loses the result of an edit",
    "language_servers.after_edit.who": (
        "after every tool that writes, for agents that may ask for diagnostics"
    ),
    "language_servers.after_edit.off": "on by default, off by the project file",
    "language_servers.after_edit.real": "with real servers for Python and TypeScript",
    "language_servers.after_edit.run": (
        "the model is sent the errors with the result, and the note at its next step"
    ),
    "language_servers.real.pyright": "every action with pyright",
    "language_servers.real.basedpyright": "every action with basedpyright",
    "language_servers.real.typescript-language-server": "every action with typescript-language-server",
    "language_servers.real.typescript-7": "every action with TypeScript 7",
    "language_servers.real.gopls": "every action with gopls",
    "language_servers.real.rust-analyzer": "every action with rust-analyzer",
    "language_servers.real.clangd": "every action with clangd",
    "language_servers.real.bash": "every action with bash-language-server",
    "language_servers.real.yaml": "every action with yaml-language-server",
    "language_servers.real.json": "every action with vscode-json-language-server",
    "language_servers.real.css": "every action with vscode-css-language-server",
    "language_servers.real.svelte": "Svelte with svelte-language-server",
    "language_servers.real.sql": "SQL with sqruff",
    "language_servers.real.php": "PHP with intelephense",
    "language_servers.real.vue": "Vue with @vue/language-server 2, and 3 with typescript-language-server",
    "language_servers.real.html": "every action with vscode-html-language-server",
}
