"""The client capabilities that language servers get, and the answers to their requests.

Owns: the client capabilities, the capabilities that servers register later, and the answers to
server requests. Never: writing to the project; an edit that a server asks for is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from app.bridges.lsp.file_uris import path_to_uri
from app.bridges.lsp.watched import WatchedGlobs

MAX_REGISTRATIONS = 1_000
MAX_REGISTRATION, MAX_REGISTERED = 100_000, 1_000_000
"""How much one registration may hold, and all together, in characters and eight times the values."""
MAX_SECTIONS = 1_000
_SYMBOL_KINDS = list(range(1, 27))
_ACTION_KINDS = ["", "quickfix", "refactor", "refactor.extract", "refactor.inline", "refactor.rewrite"]
_ACTION_KINDS += ["source", "source.organizeImports", "source.fixAll"]
_WATCHING = "workspace/didChangeWatchedFiles"
_STATIC = {
    "textDocument/definition": "definitionProvider",
    "textDocument/typeDefinition": "typeDefinitionProvider",
    "textDocument/implementation": "implementationProvider",
    "textDocument/references": "referencesProvider",
    "textDocument/hover": "hoverProvider",
    "textDocument/documentSymbol": "documentSymbolProvider",
    "textDocument/rename": "renameProvider",
    "textDocument/codeAction": "codeActionProvider",
    "textDocument/diagnostic": "diagnosticProvider",
    "textDocument/declaration": "declarationProvider",
    "textDocument/completion": "completionProvider",
    "textDocument/signatureHelp": "signatureHelpProvider",
    "textDocument/documentHighlight": "documentHighlightProvider",
    "textDocument/foldingRange": "foldingRangeProvider",
    "textDocument/selectionRange": "selectionRangeProvider",
    "textDocument/prepareCallHierarchy": "callHierarchyProvider",
    "textDocument/prepareTypeHierarchy": "typeHierarchyProvider",
    "textDocument/inlayHint": "inlayHintProvider",
    "textDocument/codeLens": "codeLensProvider",
    "textDocument/documentLink": "documentLinkProvider",
    "textDocument/formatting": "documentFormattingProvider",
    "textDocument/rangeFormatting": "documentRangeFormattingProvider",
    "textDocument/semanticTokens/full": "semanticTokensProvider",
    "workspace/symbol": "workspaceSymbolProvider",
    "workspace/executeCommand": "executeCommandProvider",
}
_WITHIN = {
    "textDocument/prepareRename": ("renameProvider", "prepareProvider"),
    "codeAction/resolve": ("codeActionProvider", "resolveProvider"),
    "workspaceSymbol/resolve": ("workspaceSymbolProvider", "resolveProvider"),
    "workspace/diagnostic": ("diagnosticProvider", "workspaceDiagnostics"),
}
_FILE_OPERATIONS = ("willRename", "didRename", "willCreate", "didCreate", "willDelete", "didDelete")


_DYNAMIC: dict[str, Any] = {"dynamicRegistration": True}
_LINK = {**_DYNAMIC, "linkSupport": True}
_WORKSPACE: dict[str, Any] = {
    "applyEdit": True,
    "workspaceEdit": {
        "documentChanges": True,
        "resourceOperations": ["create", "rename", "delete"],
        "failureHandling": "transactional",
        "normalizesLineEndings": False,
        "changeAnnotationSupport": {"groupsOnLabel": False},
    },
    "configuration": True,
    "workspaceFolders": True,
    "didChangeConfiguration": _DYNAMIC,
    "symbol": {**_DYNAMIC, "symbolKind": {"valueSet": _SYMBOL_KINDS}},
    "executeCommand": _DYNAMIC,
    "diagnostics": {"refreshSupport": True},
    "fileOperations": {**_DYNAMIC, "willRename": True, "didRename": True},
}
_TEXT_DOCUMENT: dict[str, Any] = {
    "synchronization": {**_DYNAMIC, "didSave": True},
    "publishDiagnostics": {
        "relatedInformation": True,
        "versionSupport": True,
        "codeDescriptionSupport": True,
        "dataSupport": True,
        "tagSupport": {"valueSet": [1, 2]},
    },
    "diagnostic": {**_DYNAMIC, "relatedDocumentSupport": False},
    "definition": _LINK,
    "typeDefinition": _LINK,
    "implementation": _LINK,
    "declaration": _LINK,
    "references": _DYNAMIC,
    "hover": {**_DYNAMIC, "contentFormat": ["markdown", "plaintext"]},
    "documentSymbol": {
        **_DYNAMIC,
        "hierarchicalDocumentSymbolSupport": True,
        "symbolKind": {"valueSet": _SYMBOL_KINDS},
    },
    "callHierarchy": _DYNAMIC,
    "typeHierarchy": _DYNAMIC,
    "foldingRange": {**_DYNAMIC, "lineFoldingOnly": False},
    "rename": {**_DYNAMIC, "prepareSupport": True, "honorsChangeAnnotations": True},
    "codeAction": {
        **_DYNAMIC,
        "isPreferredSupport": True,
        "disabledSupport": True,
        "dataSupport": True,
        "honorsChangeAnnotations": True,
        "resolveSupport": {"properties": ["edit", "command"]},
        "codeActionLiteralSupport": {"codeActionKind": {"valueSet": _ACTION_KINDS}},
    },
}


def client_capabilities(*, watches_files: bool) -> dict[str, Any]:
    """Return the `capabilities` of the initialize request. With `watches_files` the server may rely
    on notifications of changes on disk; without, it watches by itself."""
    watching = {"dynamicRegistration": watches_files, "relativePatternSupport": watches_files}
    return {
        # Code points are what agents count in, so a server that can count so needs no conversion.
        "general": {"positionEncodings": ["utf-32", "utf-16", "utf-8"]},
        "window": {
            "workDoneProgress": True,
            "showMessage": {"messageActionItem": {"additionalPropertiesSupport": False}},
            "showDocument": {"support": False},
        },
        "workspace": {**_WORKSPACE, "didChangeWatchedFiles": watching},
        "textDocument": _TEXT_DOCUMENT,
        "experimental": {"serverStatusNotification": True},
    }


class ServerCapabilities:
    """What a server offers: announced at its start, registered or withdrawn later."""

    def __init__(self, static: Mapping[str, Any]) -> None:
        self._static = static
        self._registered: dict[str, tuple[str, Any]] = {}
        self._sizes: dict[str, int] = {}
        self._watched: WatchedGlobs | None = None
        self.changed: Callable[[], None] = lambda: None

    def offers(self, method: str) -> bool:
        """Tell whether the server takes requests of this method."""
        return self.options(method) is not None

    def options(self, method: str) -> Mapping[str, Any] | None:
        """Return the options of what the server offers, empty when it states none; None when it does
        not offer it."""
        for registered, options in self._registered.values():
            if registered == method:
                return options if isinstance(options, dict) else {}
        declared: Any = None
        if method in _STATIC:
            declared = self._static.get(_STATIC[method])
        elif method in _WITHIN:
            provider, option = _WITHIN[method]
            declared = self._within(provider, option)
        elif method.startswith("workspace/") and method.endswith("Files"):
            declared = self._file_operation(method.removeprefix("workspace/").removesuffix("Files"))
        if isinstance(declared, dict):
            return declared
        return {} if declared is True else None

    def merged(self) -> dict[str, Any]:
        """Return static and registered capabilities together, as plain data."""
        registered: dict[str, Any] = {}
        for method, options in self._registered.values():
            registered[method] = options if options is not None else True
        return {**self._static, **({"registered": registered} if registered else {})}

    def watched(self) -> WatchedGlobs:
        """Return the files whose changes the server watches."""
        if self._watched is None:
            options = [
                registration for method, registration in self._registered.values() if method == _WATCHING
            ]
            self._watched = WatchedGlobs.of(options)
        return self._watched

    def text_sync(self) -> int:
        """Return how the server takes changes: 0 not at all, 1 whole texts, 2 the part that changed."""
        declared = self._static.get("textDocumentSync")
        kind = declared.get("change") if isinstance(declared, dict) else declared
        return kind if isinstance(kind, int) and kind in {0, 1, 2} else 0

    def takes_save(self) -> tuple[bool, bool]:
        """Return whether the server gets a notification of saves, and whether with the text."""
        for method, options in self._registered.values():
            if method == "textDocument/didSave":
                return True, isinstance(options, dict) and options.get("includeText") is True
        declared = self._static.get("textDocumentSync")
        if not isinstance(declared, dict):
            return isinstance(declared, int), False
        save = declared.get("save")
        if isinstance(save, dict):
            return True, save.get("includeText") is True
        return save is True, False

    def register(self, params: Any) -> None:
        for entry in _entries(params, "registrations"):
            key = str(entry.get("id"))
            self._drop(key)
            size = _size(entry)
            fits = size <= MAX_REGISTRATION and sum(self._sizes.values()) + size <= MAX_REGISTERED
            if fits and len(self._registered) < MAX_REGISTRATIONS and isinstance(entry.get("method"), str):
                self._registered[key] = (entry["method"], entry.get("registerOptions"))
                self._sizes[key] = size
        self._watched = None
        self.changed()

    def take_over(self, other: ServerCapabilities) -> None:
        """Add what was registered before the static capabilities were known."""
        self._registered.update(other._registered)
        self._sizes.update(other._sizes)
        self._watched = None
        self.changed = other.changed

    def unregister(self, params: Any) -> None:
        # The protocol itself misspells the name.
        for entry in _entries(params, "unregisterations"):
            self._drop(str(entry.get("id")))
        self._watched = None
        self.changed()

    def _drop(self, key: str) -> None:
        self._registered.pop(key, None)
        self._sizes.pop(key, None)

    def _within(self, provider: str, option: str) -> Any:
        declared = self._static.get(provider)
        if isinstance(declared, dict) and declared.get(option):
            return True
        method = next((name for name, key in _STATIC.items() if key == provider), "")
        for registered, options in self._registered.values():
            if registered == method and isinstance(options, dict) and options.get(option):
                return True
        return None

    def _file_operation(self, name: str) -> Any:
        workspace = self._static.get("workspace")
        operations = workspace.get("fileOperations") if isinstance(workspace, dict) else None
        if not isinstance(operations, dict) or name not in _FILE_OPERATIONS:
            return None
        return operations.get(name)


class ServerRequests:
    """Answers what a server asks of its client."""

    def __init__(
        self,
        root: Path,
        settings: Mapping[str, Any],
        capabilities: Callable[[], ServerCapabilities],
        refreshed: Callable[[], None],
    ) -> None:
        self._root = root
        self._settings = settings
        self._capabilities = capabilities
        self._refreshed = refreshed

    async def answer(self, method: str, params: Any) -> Any:
        """Return the answer. What is unknown is answered by null: servers are known to end when such
        a request is refused, and null is what a client without that feature would say."""
        match method:
            case "workspace/configuration":
                items = _entries(params, "items")[:MAX_SECTIONS]
                return [_section(self._settings, item.get("section")) for item in items]
            case "client/registerCapability":
                self._capabilities().register(params)
            case "client/unregisterCapability":
                self._capabilities().unregister(params)
            case "workspace/workspaceFolders":
                return [{"uri": path_to_uri(self._root), "name": self._root.name}]
            case "workspace/applyEdit":
                return {"applied": False, "failureReason": "edits are applied by the agent's own calls only"}
            case "window/showDocument":
                return {"success": False}
            case "workspace/diagnostic/refresh":
                self._refreshed()
        return None


def _section(settings: Mapping[str, Any], section: Any) -> Any:
    """Return one part of the settings, `a.b` being `b` in `a` or the key `a.b`; null when it is not set."""
    if not isinstance(section, str) or not section:
        return dict(settings)
    if section in settings:
        return settings[section]
    value: Any = settings
    for name in section.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _entries(params: Any, name: str) -> list[dict[str, Any]]:
    entries = params.get(name) if isinstance(params, dict) else None
    return [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []


def _size(value: Any) -> int:
    """Return how much a value from JSON holds, up to the bound of what is registered."""
    left, size = [value], 0
    while left and size <= MAX_REGISTRATION:
        one = left.pop()
        size += 8
        if isinstance(one, str):
            size += len(one)
        elif isinstance(one, list):
            size += len(one)
            left += one[:MAX_REGISTRATION]
        elif isinstance(one, dict):
            size += len(one)
            left += [part for pair in list(one.items())[:MAX_REGISTRATION] for part in pair]
    return size
