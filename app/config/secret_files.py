"""Variables whose values lie in files, as the secrets of containers do: `NAME_FILE` names the file of `NAME`.

Owns: reading such a file, and the error when that fails. Never: which variables are asked for; a value in an
error.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from app.errors import ConfigError

FILE_MARK = "_FILE"
MAX_BYTES = 64 * 1024


class Variables(Mapping[str, str]):
    """An environment in which `NAME` is the content of the file that `NAME_FILE` names. It is read when the
    variable is asked for; raises `ConfigError` when it cannot be read, or both variables are set."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ

    def __getitem__(self, name: str) -> str:
        variable = f"{name}{FILE_MARK}"
        file = self._environ.get(variable)
        if not file:
            return self._environ[name]
        if self._environ.get(name):
            raise ConfigError(f"{name} and {variable} are both set; keep one of them")
        return secret_in(variable, file)

    def __iter__(self) -> Iterator[str]:
        return iter(self._environ)

    def __len__(self) -> int:
        return len(self._environ)


def secret_in(variable: str, file: str) -> str:
    """Return the text of the file that `variable` names, without line ends after it. Raises `ConfigError`.
    Blocks: reads a small file."""
    path = Path(file).expanduser().absolute()
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            regular = stat.S_ISREG(os.fstat(descriptor).st_mode)
            content = os.read(descriptor, MAX_BYTES + 1) if regular else b""
        finally:
            os.close(descriptor)
    except OSError as problem:
        raise _unusable(variable, path, f"cannot be read: {problem.strerror}") from None
    if not regular:
        raise _unusable(variable, path, "is not a regular file")
    if len(content) > MAX_BYTES:
        raise _unusable(variable, path, f"has more than {MAX_BYTES // 1024} KiB")
    try:
        text = content.decode("utf-8").rstrip("\r\n")
    except UnicodeDecodeError:
        raise _unusable(variable, path, "is not text in UTF-8") from None
    if not text:
        raise _unusable(variable, path, "is empty")
    return text


def _unusable(variable: str, path: Path, why: str) -> ConfigError:
    return ConfigError(f"{variable}: the file {path} {why}")
