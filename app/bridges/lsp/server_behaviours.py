"""How each known server program behaves, by the name of its program.

Owns: readiness signals, the way diagnostics become current, options and settings of each server, as
measured on real ones. Never: where a server is found, or the languages it is for.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from app.bridges.lsp.language_entry import Across, Behaviour, ConfigFiles, NewFiles, ServerOptions, Signals

_PYRIGHT_LOADED = r"^(?:Found \d+ source files?|No source files found)"
_PYRIGHT_ANALYSIS = {
    "autoSearchPaths": True,
    "useLibraryCodeForTypes": True,
    "diagnosticMode": "openFilesOnly",
}
_PYRIGHT = Behaviour(
    freshness="pull",
    ready="log",
    ready_pattern=_PYRIGHT_LOADED,
    new_files=NewFiles(shown=True, scans_late=True),
    across=Across(renames_own_files=True),
    previews=True,
    options=ServerOptions(
        told_settings=False,
        settings={"python": {"analysis": _PYRIGHT_ANALYSIS}, "pyright": {"disableOrganizeImports": False}},
    ),
    mixes_declarations=True,
)
_BASEDPYRIGHT = Behaviour(
    freshness="pull",
    ready="log",
    ready_pattern=_PYRIGHT_LOADED,
    new_files=NewFiles(shown=True, scans_late=True),
    across=Across(renames_own_files=True),
    previews=True,
    options=ServerOptions(
        told_settings=False,
        # As pyright checks; its own stricter default is for those who choose it in their project.
        settings={
            "python": {"analysis": _PYRIGHT_ANALYSIS},
            "basedpyright": {"analysis": {**_PYRIGHT_ANALYSIS, "typeCheckingMode": "standard"}},
        },
    ),
    mixes_declarations=True,
)
_OF_TYPESCRIPT = frozenset({"tsconfig.json", "jsconfig.json"})
_TYPESCRIPT = Behaviour(
    config=ConfigFiles(names=_OF_TYPESCRIPT),
    across=Across(takes_any_folder=True, splits_shorthands=True),
    previews=True,
    freshness="tsserver",
    ready="progress",
    mixes_declarations=True,
    options=ServerOptions(
        initialization={
            "hostInfo": "kaged",
            # The syntax server answers before the project is loaded, with half of the places.
            "tsserver": {"useSyntaxServer": "never"},
            "disableAutomaticTypingAcquisition": True,
            # A rename at a use renames the symbol itself, not only its name in that file.
            "preferences": {"allowRenameOfImportPath": False, "providePrefixAndSuffixTextForRename": False},
        },
        # With it, the server sees only the changes that it is notified of.
        watching={"tsserver": {"useClientFileWatcher": True}},
    ),
)
_TYPESCRIPT_7 = Behaviour(
    config=ConfigFiles(names=_OF_TYPESCRIPT),
    across=Across(takes_any_folder=True, splits_shorthands=True),
    previews=True,
    freshness="pull",
    new_files=NewFiles(watches_late=True),
    options=ServerOptions(
        settings={name: {"preferences": {"useAliasesForRenames": False}} for name in ("js/ts", "typescript")},
    ),
)
_GO = Behaviour(
    answers_again=True,
    previews=True,
    across=Across(checks_all="gopls.diagnose_files"),
    options=ServerOptions(
        # It waits a second for a human to type on before it looks at packages that import the changed one.
        settings={"gopls": {"diagnosticsDelay": "100ms"}},
    ),
)
_RUST = Behaviour(
    freshness="flycheck",
    ready="server_status",
    # It always tells of its state, on a busy machine late; what it answers before that lacks everything.
    signals=Signals(
        failed_check_pattern=r"\bcargo check failed\b",
        failed_load_pattern=r"\bcargo metadata\b|(?i:failed to (?:load|fetch|read|discover))",
        unannounced_seconds=90.0,
    ),
    options=ServerOptions(
        # Its own checks do not wait for, or undo, the builds of others.
        initialization={"cargo": {"targetDir": True}},
        section="rust-analyzer",
        # It does not say which of its checks it has stopped, so it runs those only that it is asked for.
        fixed={"checkOnSave": False},
        # It has them from its initialization, and would load the project again.
        told_settings=False,
    ),
    # What a project's dependencies are is for the project's own builds to fetch.
    env={"CARGO_NET_OFFLINE": "true"},
    max_memory_mb=6144,
)
_JSON = Behaviour(
    freshness="pull",
    settle_ms=400,
    options=ServerOptions(
        # A schema named by a file of the project is read from disk, never from an address.
        initialization={"provideFormatter": True, "handledSchemaProtocols": ["file"]},
        settings={"json": {"validate": {"enable": True}, "format": {"enable": True}}},
    ),
)
_STYLE_OR_MARKUP = Behaviour(
    freshness="pull",
    settle_ms=400,
    mixes_declarations=True,
    options=ServerOptions(
        initialization={
            "provideFormatter": True,
            "embeddedLanguages": {"css": True, "javascript": True},
        },
        settings={
            **{name: {"validate": True} for name in ("css", "scss", "less")},
            "html": {"validate": {"scripts": True, "styles": True}},
            # Without this section the server fails at every check and calls each page clean.
            "js/ts": {"implicitProjectConfig": {"checkJs": False, "strictNullChecks": True}},
        },
    ),
)
_YAML = Behaviour(
    freshness="settled",
    settle_ms=400,
    options=ServerOptions(
        settings={
            "yaml": {
                "validate": True,
                "hover": True,
                "completion": True,
                "schemaStore": {"enable": False},
                "kubernetesCRDStore": {"enable": False},
            },
            # Without these it replaces a tab by the word "undefined".
            "editor": {"detectIndentation": False},
            "[yaml]": {"editor.tabSize": 2},
        },
    ),
)
_BASH = Behaviour(
    signals=Signals(loads_first=True),
    mixes_declarations=True,
    ready="log",
    ready_pattern=r"BackgroundAnalysis: (?:Completed|skipping as|stopped|failed)",
    options=ServerOptions(
        settings={"bashIde": {"enableSourceErrorDiagnostics": False, "explainshellEndpoint": ""}},
    ),
)
_LOADING = Behaviour(
    freshness="settled",
    ready="progress",
    settle_ms=500,
)

BEHAVIOURS: Mapping[str, Behaviour] = {
    "pyright-langserver": _PYRIGHT,
    "pyright-python-langserver": _PYRIGHT,
    "basedpyright-langserver": _BASEDPYRIGHT,
    "typescript-language-server": _TYPESCRIPT,
    "tsc": _TYPESCRIPT_7,
    "tsgo": _TYPESCRIPT_7,
    "rust-analyzer": _RUST,
    "gopls": _GO,
    "clangd": Behaviour(
        freshness="clangd",
        ready="index",
        config=ConfigFiles(
            names=frozenset(
                {"compile_commands.json", "build/compile_commands.json", "compile_flags.txt", ".clangd"}
            ),
            sourceless={"compile_flags.txt": "", ".clangd": "CompilationDatabase"},
            most_opened=40,
        ),
        reads_too=frozenset({".def", ".inc", ".icc", ".tcc", ".txx"}),
    ),
    "bash-language-server": _BASH,
    "yaml-language-server": _YAML,
    "vscode-json-language-server": _JSON,
    "vscode-css-language-server": _STYLE_OR_MARKUP,
    "vscode-html-language-server": _STYLE_OR_MARKUP,
    "jdtls": Behaviour(
        freshness="settled",
        ready="progress",
        settle_ms=800,
        max_memory_mb=6144,
    ),
    "csharp-ls": _LOADING,
    "OmniSharp": _LOADING,
    "omnisharp": _LOADING,
    "ruby-lsp": Behaviour(
        freshness="pull",
        ready="progress",
    ),
    "solargraph": Behaviour(
        freshness="settled",
        settle_ms=500,
    ),
    "intelephense": Behaviour(
        signals=Signals(loads_first=True, unannounced_seconds=15.0),
        new_files=NewFiles(shown=True),
        freshness="settled",
        ready="progress",
        settle_ms=500,
        options=ServerOptions(
            initialization={"clearCache": False},
            settings={"intelephense": {"telemetry": {"enabled": False}}},
        ),
    ),
    "phpactor": _LOADING,
    "lua-language-server": Behaviour(
        ready="progress",
        options=ServerOptions(
            settings={"Lua": {"telemetry": {"enable": False}, "workspace": {"checkThirdParty": False}}},
        ),
    ),
    "docker-langserver": Behaviour(
        freshness="settled",
    ),
    "docker-language-server": Behaviour(
        freshness="settled",
        options=ServerOptions(initialization={"dockerfileExperimental": {}, "telemetry": "off"}),
    ),
    "terraform-ls": Behaviour(
        freshness="settled",
        settle_ms=500,
    ),
    "tofu-ls": Behaviour(
        freshness="settled",
        settle_ms=500,
    ),
    "zls": Behaviour(
        freshness="settled",
    ),
    "kotlin-lsp": Behaviour(
        freshness="pull",
        ready="progress",
        max_memory_mb=6144,
    ),
    "kotlin-language-server": Behaviour(
        freshness="settled",
        ready="progress",
        settle_ms=800,
    ),
    "sourcekit-lsp": Behaviour(
        ready="progress",
    ),
    "expert": _LOADING,
    "elixir-ls": Behaviour(
        freshness="settled",
        ready="progress",
        settle_ms=800,
    ),
    "nextls": _LOADING,
    "sqruff": Behaviour(
        freshness="in_order",
        config=ConfigFiles(saved=frozenset({".sqruff", ".sqlfluff", ".sqruffignore"})),
    ),
    "sqls": Behaviour(
        freshness="settled",
    ),
    "svelteserver": Behaviour(
        freshness="settled",
        settle_ms=500,
        mixes_declarations=True,
    ),
    # Of release 2: without the hybrid mode it needs no second server for TypeScript.
    "vue-language-server": Behaviour(
        freshness="unoffered",
        options=ServerOptions(initialization={"vue": {"hybridMode": False}}),
    ),
}
ACCOMPANIED: Mapping[str, Behaviour] = {
    # A rename that begins in a component changes modules too, which are no documents of its server.
    "vue-language-server": replace(_TYPESCRIPT, previews=False),
}
"""Servers that need a companion, by the name of the program that was asked for."""
UNKNOWN = Behaviour(
    ready="progress",
)
"""A server that nothing is known of: progress that it announces is waited for, and versions are used
where it gives them."""

_DECORATIONS = frozenset({"js", "cjs", "mjs", "py", "sh", "exe", "cmd", "bat"})
_RELEASE = re.compile(r"-\d++(?>(?:\.\d++)*)$")


def behaviour_of(program: str) -> Behaviour:
    """Return the behaviour by the program's file name, with or without a release (`clangd-19`)."""
    return known_behaviour(program) or UNKNOWN


def known_behaviour(program: str) -> Behaviour | None:
    """Return the behaviour of a program that is known, else None."""
    stem, *endings = program.rpartition("/")[2].split(".")
    while endings and endings[-1] in _DECORATIONS:
        endings.pop()
    name = ".".join((stem, *endings))
    return BEHAVIOURS.get(name) or BEHAVIOURS.get(_RELEASE.sub("", name))
