"""The keys of providers that an operator has set on the page or with `kaged providers key`.

Owns: where they lie, reading them, and what becomes of a provider's settings when one is set or deleted.
Never: writing the file (`harness.providers.key_file`); a key in an error.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from pydantic import SecretStr

from app.config.credentials import USUAL_VARIABLES
from app.config.environment import process_environment
from app.config.secret_files import Variables
from app.config.settings import ProviderSettings
from app.errors import ConfigError

KEY_FILE = "provider-keys.json"
MAX_FILE_BYTES = 1024 * 1024


def stored_keys(data_dir: Path) -> dict[str, str]:
    """Return the stored keys by provider. Raises `ConfigError` when the file cannot be read. Blocks."""
    file = data_dir / KEY_FILE
    try:
        with file.open("rb") as content:
            found = json.loads(content.read(MAX_FILE_BYTES + 1))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as problem:
        raise ConfigError(f"{file} cannot be read: {problem.strerror}") from None
    except ValueError:
        found = None
    if not isinstance(found, dict) or not all(isinstance(key, str) for key in found.values()):
        raise ConfigError(f"{file} is damaged; delete it and set the keys again")
    return found


def with_stored_key(provider: ProviderSettings, key: str) -> ProviderSettings:
    """Return the settings of a provider whose key is set now."""
    changed = {"api_key": SecretStr(key), "key_from": "stored", "missing_env": ()}
    return provider.model_copy(update=changed)


def without_stored_key(
    name: str, provider: ProviderSettings, environ: Mapping[str, str] | None = None
) -> ProviderSettings:
    """Return the settings of a provider whose stored key is deleted: its usual variable counts again. Blocks
    where that names a file."""
    variables = Variables(process_environment() if environ is None else environ)
    usual = USUAL_VARIABLES.get(name, ())
    looked_for = (provider.api_key_env,) if provider.api_key_env else usual
    found = next((variables[one] for one in looked_for if variables.get(one)), None)
    changed = {
        "api_key": None if found is None else SecretStr(found),
        "key_from": None if found is None else "variable",
        "missing_env": () if found is not None else looked_for,
    }
    return provider.model_copy(update=changed)
