"""The local configuration: the only reader of the environment and of the config file.

Owns: what an operator may set, where it comes from, and how a mistake in it is reported.
Never: anything about one project (that is the project file) and no I/O besides reading the file.
"""

from app.config.environment import child_environment, container_in_environment, environment_secrets, expanded
from app.config.exposure import is_loopback, refuse_exposure, settings_not_in_effect
from app.config.file_version import FileVersion, version_of
from app.config.hook_settings import HookSettings
from app.config.load import default_config_file, load_settings
from app.config.notify_settings import (
    NotifyCommandSettings,
    NotifyNtfySettings,
    NotifySettings,
    NotifyWebhookSettings,
)
from app.config.proxies import Proxies
from app.config.redaction import MASK, redacted, secret_values, url_password, without_credentials
from app.config.settings import (
    AuthSettings,
    DaemonSettings,
    DapAdapterSettings,
    DapSettings,
    LangfuseSettings,
    LimitSettings,
    LogSettings,
    LspServerSettings,
    LspSettings,
    McpSettings,
    OtelSettings,
    PluginSettings,
    PriceSettings,
    ProviderSettings,
    SandboxSettings,
    SearchName,
    SearchProviderSettings,
    SearchSettings,
    Settings,
    StorageSettings,
    WorkspaceSettings,
    is_base_path,
)
from app.config.stored_keys import KEY_FILE, stored_keys, with_stored_key, without_stored_key

__all__ = [
    "KEY_FILE",
    "MASK",
    "AuthSettings",
    "DaemonSettings",
    "DapAdapterSettings",
    "DapSettings",
    "FileVersion",
    "HookSettings",
    "LangfuseSettings",
    "LimitSettings",
    "LogSettings",
    "LspServerSettings",
    "LspSettings",
    "McpSettings",
    "NotifyCommandSettings",
    "NotifyNtfySettings",
    "NotifySettings",
    "NotifyWebhookSettings",
    "OtelSettings",
    "PluginSettings",
    "PriceSettings",
    "ProviderSettings",
    "Proxies",
    "SandboxSettings",
    "SearchName",
    "SearchProviderSettings",
    "SearchSettings",
    "Settings",
    "StorageSettings",
    "WorkspaceSettings",
    "child_environment",
    "container_in_environment",
    "default_config_file",
    "environment_secrets",
    "expanded",
    "is_base_path",
    "is_loopback",
    "load_settings",
    "redacted",
    "refuse_exposure",
    "secret_values",
    "settings_not_in_effect",
    "stored_keys",
    "url_password",
    "version_of",
    "with_stored_key",
    "without_credentials",
    "without_stored_key",
]
