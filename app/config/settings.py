"""What an operator may set: one frozen model for each section of `config.toml`.

Owns: names, types, defaults and bounds. Never: reading files or the environment.
Every number that is a time is in seconds unless its name says otherwise.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, PrivateAttr, SecretStr

from app.config.file_version import FileVersion
from app.config.hook_settings import HookSettings
from app.config.notify_settings import NotifySettings
from app.config.section import Section

MEBIBYTE = 1024 * 1024
_BASE_PATH = re.compile(r"(?>(?:/[A-Za-z0-9._-]++)+)")
_LONGEST_BASE_PATH = 200
_DAEMON_URL = re.compile(r"https?://[^\s/?#@]+(?:/[^\s?#]*)?")


def _as_list(value: object) -> object:
    """A single value stands for a list of one; a comma separates values in an environment variable."""
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    return value


def _no_whole_machine(folder: Path) -> Path:
    if not folder.is_absolute() or len(folder.parts) < 2 or ".." in folder.parts:
        raise ValueError("must be an absolute folder below /, without ..")
    return folder


Words = Annotated[tuple[str, ...], BeforeValidator(_as_list)]
Chain = Annotated[tuple[str, ...], BeforeValidator(_as_list), Field(min_length=1)]
Command = Annotated[tuple[str, ...], Field(min_length=1)]
SharedFolder = Annotated[Path, AfterValidator(_no_whole_machine)]
Positive = Annotated[float, Field(gt=0)]


def _without_brackets(host: str) -> str:
    """An address of IPv6 is written in brackets where a port may follow; a socket takes it without."""
    return host[1:-1] if host.startswith("[") and host.endswith("]") else host


def is_base_path(text: str) -> bool:
    """Tell whether a text is a path prefix: segments of letters, digits and `-._`, each behind a slash."""
    if not text or len(text) > _LONGEST_BASE_PATH:
        return not text
    return _BASE_PATH.fullmatch(text) is not None and not {".", ".."} & set(text.split("/"))


def _base_path(text: str) -> str:
    if not is_base_path(text):
        raise ValueError(
            "must be empty, or begin with / and not end with it, and consist of letters, digits, "
            "-, . and _ between single slashes (for example /shop)"
        )
    return text


class DaemonSettings(Section):
    """`port` 0 takes a free one. `base_path` is the path prefix below which a proxy serves the daemon.
    Everything the daemon writes outside projects is in `data_dir`."""

    host: Annotated[str, AfterValidator(_without_brackets)] = "127.0.0.1"
    port: int = Field(default=7777, ge=0, le=65535)
    base_path: Annotated[str, AfterValidator(_base_path)] = ""
    data_dir: Path = Path()
    shutdown_grace_seconds: float = Field(default=10.0, ge=0)
    heartbeat_seconds: Positive = 15.0
    idle_timeout_seconds: Positive = 90.0
    max_body_bytes: int = Field(default=10 * MEBIBYTE, ge=1024)
    access_log: bool = False


class AuthSettings(Section):
    """The settings of access to the daemon. Loopback names and the bound host are always allowed hosts."""

    mode: Literal["token", "proxy", "insecure"] = "token"
    allowed_hosts: Words = ()
    allowed_origins: Words = ()
    proxy_nonce: SecretStr | None = None
    allow_insecure_remote: bool = False


def _daemon_url(text: str) -> str:
    if _DAEMON_URL.fullmatch(text) is None:
        raise ValueError(
            "must be the address at which the other daemons reach this one, with its base path and without a "
            "user name, for example https://kaged-1.example.org"
        )
    return text.rstrip("/")


class StorageSettings(Section):
    """`url` None means the SQLite file in the data folder; a retention that is None keeps everything.
    `replicas`: several daemons use the database, and each is reached by the others at its `replica_url`.
    `listen_url` is the server itself where `url` is a pooler's."""

    url: SecretStr | None = None
    replicas: bool = False
    replica_url: Annotated[str, AfterValidator(_daemon_url)] | None = None
    listen_url: SecretStr | None = None
    event_retention_days: int = Field(default=30, ge=1)
    event_retention_mb: int = Field(default=1024, ge=1)
    audit_retention_days: int = Field(default=365, ge=1)
    audit_retention_mb: int = Field(default=4096, ge=1)
    session_retention_days: int | None = Field(default=None, ge=1)
    session_retention_mb: int | None = Field(default=None, ge=1)
    log_retention_days: int = Field(default=14, ge=1)
    log_retention_entries: int = Field(default=100_000, ge=1000)


class SandboxSettings(Section):
    """`auto` and `full` take namespaces or nothing, and with `full` the daemon is not ready without them;
    `landlock` opts in to the weaker kind. `read_only`: folders outside `/usr` that every cage sees."""

    mode: Literal["auto", "full", "landlock", "off"] = "auto"
    lsp: Literal["project", "none"] = "project"
    read_only: tuple[SharedFolder, ...] = ()


class ProjectSettings(Section):
    """`trusted`: folders whose projects, and those below them, run without a question."""

    trusted: tuple[SharedFolder, ...] = ()


class WorkspaceSettings(Section):
    """`max_gb` is what the folders of all sessions take together; for `undo_days` one that was discarded can
    be taken back. `max_attempts` is how many sessions may attempt the same."""

    max_gb: float = Field(default=20.0, gt=0)
    undo_days: float = Field(default=7.0, ge=0)
    max_attempts: int = Field(default=8, ge=2, le=64)


class InstructionSettings(Section):
    """`user`: agents get the user's instruction files and skills (`~/.agents`, `~/.claude`, `~/.kaged`)."""

    user: bool = True


class LogSettings(Section):
    """`format` auto: human lines on a terminal, JSON lines otherwise."""

    level: Literal["debug", "info", "warning", "error"] = "info"
    format: Literal["auto", "json", "human"] = "auto"


class ProviderSettings(Section):
    """One model provider. `timeout_seconds` bounds the silence between two pieces of an answer.

    `api_key` is resolved: from `api_key`, or from the variable that `api_key_env` names.
    `missing_env` names the variables that were looked for and are not set, `key_from` where the key is from:
    the settings, a usual variable, or the file of stored keys.
    """

    driver: str
    base_url: str | None = Field(default=None, pattern=r"^https?://[^\s]+$")
    api_key: SecretStr | None = None
    api_key_env: str | None = None
    headers: dict[str, str] = Field(default_factory=dict, repr=False)
    timeout_seconds: Positive = 120.0
    transcript: Path | None = None
    options: dict[str, Any] = Field(default_factory=dict, repr=False)
    missing_env: tuple[str, ...] = ()
    key_from: Literal["settings", "variable", "stored"] | None = None


class PriceSettings(Section):
    """What is known of a model: US dollars per million tokens, token counts, and whether it takes
    images. None is unknown, never free."""

    input: float | None = Field(default=None, ge=0)
    output: float | None = Field(default=None, ge=0)
    cache_read: float | None = Field(default=None, ge=0)
    cache_write: float | None = Field(default=None, ge=0)
    context_window: int | None = Field(default=None, gt=0)
    max_output: int | None = Field(default=None, gt=0)
    images: bool | None = None


class LimitSettings(Section):
    """Counts are of things at the same time; 0 throttles at once. None means no limit. Requests are
    counted for each token (or user of a proxy), anonymous ones, failed sign-ins and connections for each
    address, frames for each WebSocket."""

    sessions_per_project: int = Field(default=4, ge=0)
    sessions_per_operator: int = Field(default=8, ge=0)
    sessions_in_overload: int | None = Field(default=8, ge=1)
    queue_per_session: int = Field(default=50, ge=0)
    checkpoints_per_session: int = Field(default=100, ge=0)
    ptys_per_session: int = Field(default=4, ge=0)
    max_steps: int | None = Field(default=None, gt=0)
    tokens: int | None = Field(default=None, gt=0)
    cost_usd: float | None = Field(default=None, gt=0)
    walltime_seconds: float | None = Field(default=None, gt=0)
    max_upload_bytes: int = Field(default=100 * MEBIBYTE, ge=1024)
    requests_per_minute: int | None = Field(default=6_000, ge=0)
    anonymous_requests_per_minute: int | None = Field(default=1_200, ge=0)
    failed_sign_ins_per_minute: int | None = Field(default=300, ge=0)
    sockets_per_client: int | None = Field(default=200, ge=0)
    socket_frames_per_minute: int | None = Field(default=1_200, ge=0)
    connections_per_address: int | None = Field(default=500, ge=1)


class LangfuseSettings(Section):
    """Traces to a Langfuse server; the keys are resolved as a provider's key is. `capture_content`: what
    was said, and arguments and results of tools, go along."""

    enabled: bool = False
    base_url: str = Field(default="https://cloud.langfuse.com", pattern=r"^https?://[^\s]+$")
    public_key: SecretStr | None = None
    public_key_env: str | None = None
    secret_key: SecretStr | None = None
    secret_key_env: str | None = None
    capture_content: bool = False


class OtelSettings(Section):
    """Traces by OTLP over HTTP. `endpoint` is the collector's address, with or without `/v1/traces`."""

    enabled: bool = False
    endpoint: str = Field(default="http://localhost:4318", pattern=r"^https?://[^\s]+$")
    service_name: str = "kaged"
    headers: dict[str, str] = Field(default_factory=dict, repr=False)
    capture_content: bool = False


class LspServerSettings(Section):
    """One language server, by the name of its language. More memory than `max_memory_mb`, that of its
    children included, restarts it; None: as is usual for that server."""

    command: Command
    extensions: Words = ()
    settings: dict[str, Any] = Field(default_factory=dict)
    env: dict[str, str] = Field(default_factory=dict, repr=False)
    max_memory_mb: int | None = Field(default=None, ge=64)


class LspSettings(Section):
    """`diagnostics_after_edit`: a tool that edits a file reports the errors that its edit introduced."""

    diagnostics_after_edit: bool = True
    servers: dict[str, LspServerSettings] = Field(default_factory=dict)


class DapAdapterSettings(Section):
    """How one runtime is debugged: the program `command`, or the debug adapter `adapter`."""

    command: Command | None = None
    adapter: Command | None = None
    type: str | None = None
    launch: dict[str, Any] = Field(default_factory=dict)


class DapSettings(Section):
    adapters: dict[str, DapAdapterSettings] = Field(default_factory=dict)


class McpSettings(Section):
    """One MCP server: a `command` to start (stdio), or a `url` (streamable HTTP). `cage` is a cage block of a
    project file, or `disabled`; None: the project read-only, a home of its own, no network."""

    command: Command | None = None
    url: str | None = Field(default=None, pattern=r"^https?://[^\s]+$")
    env: dict[str, str] = Field(default_factory=dict, repr=False)
    headers: dict[str, str] = Field(default_factory=dict, repr=False)
    cage: Literal["disabled"] | dict[str, Any] | None = None
    timeout_seconds: Positive = 120.0
    enabled: bool = True


SearchName = Literal["searxng", "brave", "tavily", "exa"]


class SearchProviderSettings(Section):
    """One provider of `web_search`. `base_url` is that of the instance, for SearXNG, else that of a gateway.
    `api_key` is resolved as a model provider's key is; `missing_env` names variables that are not set."""

    base_url: str | None = Field(default=None, pattern=r"^https?://[^\s]+$", repr=False)
    api_key: SecretStr | None = None
    api_key_env: str | None = None
    missing_env: tuple[str, ...] = ()


class SearchSettings(Section):
    """The providers of `web_search`, by name, and its limits. The loader turns the short form for one
    (`provider`, beside it `base_url`, `api_key` and `api_key_env`) into an entry of `providers`."""

    calls_per_session: int = Field(default=25, ge=0)
    timeout_seconds: Positive = 15.0
    providers: dict[SearchName, SearchProviderSettings] = Field(default_factory=dict)
    provider: SearchName | None = None


class PluginSettings(Section):
    """Plugin packages beside those of projects: folders to look in, and each one's system config."""

    paths: tuple[Path, ...] = ()
    config: dict[str, dict[str, Any]] = Field(default_factory=dict, repr=False)


class ChatCompletionsSettings(Section):
    """`enabled`: the daemon serves `/v1/chat/completions`, and any client with a token talks to agents."""

    enabled: bool = False


class Settings(Section):
    """The whole local configuration, resolved. `models` maps an alias to its fallback chain of
    `provider:model`. `missing_env` maps a key (`providers.openai.api_key`) to the variable that
    it refers to and that is not set."""

    daemon: DaemonSettings = DaemonSettings()
    auth: AuthSettings = AuthSettings()
    storage: StorageSettings = StorageSettings()
    sandbox: SandboxSettings = SandboxSettings()
    projects: ProjectSettings = ProjectSettings()
    workspaces: WorkspaceSettings = WorkspaceSettings()
    instructions: InstructionSettings = InstructionSettings()
    log: LogSettings = LogSettings()
    models: dict[str, Chain] = Field(default_factory=dict)
    providers: dict[str, ProviderSettings] = Field(default_factory=dict)
    prices: dict[str, PriceSettings] = Field(default_factory=dict)
    limits: LimitSettings = LimitSettings()
    langfuse: LangfuseSettings = LangfuseSettings()
    otel: OtelSettings = OtelSettings()
    lsp: LspSettings = LspSettings()
    dap: DapSettings = DapSettings()
    mcp: dict[str, McpSettings] = Field(default_factory=dict)
    search: SearchSettings = SearchSettings()
    plugins: PluginSettings = PluginSettings()
    chat_completions: ChatCompletionsSettings = ChatCompletionsSettings()
    hooks: HookSettings = HookSettings()
    notify: NotifySettings = NotifySettings()
    config_file: Path | None = None
    missing_env: dict[str, str] = Field(default_factory=dict)
    _config_version: FileVersion | None = PrivateAttr(default=None)

    @property
    def config_version(self) -> FileVersion | None:
        """The version of the config file that these were read from; None where there was none."""
        return self._config_version

    def read_from(self, version: FileVersion | None) -> None:
        """Remember which version of the config file was read."""
        self._config_version = version


COMPUTED_KEYS = frozenset({"config_file", "missing_env"})
"""Fields that the loader fills in; an operator cannot set them."""
