"""Settings and keys whose values lie in files: `NAME_FILE` names the file of `NAME`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from app.config import environment_secrets, load_settings, redacted, secret_values
from app.errors import ConfigError

pytestmark = pytest.mark.requirement("image.secret_files")

SECRET = "sk-in-a-file-0123456789"


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    file = tmp_path / "secret"
    file.write_text(f"{SECRET}\n")
    file.chmod(0o644)  # as an engine mounts it
    return file


@pytest.fixture
def config(tmp_path: Path) -> Path:
    file = tmp_path / "config.toml"
    file.write_text(
        '[providers.a]\ndriver = "openai"\napi_key_env = "A_KEY"\n'
        '[providers.b]\ndriver = "openai"\napi_key = "${B_KEY}"\n'
    )
    return file


def test_a_setting_a_usual_key_a_named_variable_and_a_reference(secret: Path, config: Path) -> None:
    names = (
        *("KAGED_STORAGE__URL_FILE", "KAGED_PROVIDERS__OPENAI_RESPONSES__API_KEY_FILE"),
        *("ANTHROPIC_API_KEY_FILE", "A_KEY_FILE", "B_KEY_FILE"),
    )
    settings = load_settings(config_file=config, environ=dict.fromkeys(names, str(secret)))
    found = [settings.storage.url]
    found += [settings.providers[name].api_key for name in ("openai-responses", "anthropic", "a", "b")]
    assert [one.get_secret_value() for one in found if one is not None] == [SECRET] * 5
    assert settings.missing_env == {}
    assert SECRET in secret_values(settings)
    assert SECRET not in str(redacted(settings))


def test_only_the_ends_of_lines_after_a_secret_are_no_part_of_it(secret: Path) -> None:
    secret.write_bytes(b" [a secret]  \r\n\n")
    settings = load_settings(environ={"KAGED_AUTH__PROXY_NONCE_FILE": str(secret)})
    assert settings.auth.proxy_nonce is not None
    assert settings.auth.proxy_nonce.get_secret_value() == " [a secret]  "


@pytest.mark.parametrize("name", ["ANTHROPIC_API_KEY", "KAGED_STORAGE__URL"])
@pytest.mark.parametrize(
    ("content", "said"),
    [
        pytest.param(None, "No such file", id="missing"),
        pytest.param(b"", "is empty", id="empty"),
        pytest.param(b"\n", "is empty", id="blank"),
        pytest.param(b"\xff\xfe" + SECRET.encode(), "is not text in UTF-8", id="binary"),
        pytest.param(SECRET.encode() * 4000, "has more than 64 KiB", id="large"),
    ],
)
def test_a_file_that_gives_no_secret_is_named_with_its_variable(
    secret: Path, name: str, content: bytes | None, said: str
) -> None:
    secret.unlink() if content is None else secret.write_bytes(content)
    with pytest.raises(ConfigError) as error:
        load_settings(environ={f"{name}_FILE": str(secret)})
    assert error.value.message.startswith(f"{name}_FILE: the file {secret} ")
    assert said in error.value.message
    assert SECRET not in error.value.message


def test_a_folder_and_a_pipe_are_no_files_and_nobody_waits_for_them(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe"):
        with pytest.raises(ConfigError, match="is not a regular file"):
            load_settings(environ={"ANTHROPIC_API_KEY_FILE": str(path)})


@pytest.mark.parametrize("name", ["ANTHROPIC_API_KEY", "KAGED_STORAGE__URL"])
def test_a_variable_and_its_file_are_not_both_set(secret: Path, name: str) -> None:
    with pytest.raises(ConfigError, match=f"{name} and {name}_FILE are both set"):
        load_settings(environ={name: "x", f"{name}_FILE": str(secret)})


def test_a_name_that_is_no_setting_without_its_ending_is_refused_by_its_name(secret: Path) -> None:
    with pytest.raises(ConfigError, match=r"daemon\.prot_file is not a known key"):
        load_settings(environ={"KAGED_DAEMON__PROT_FILE": str(secret)})


def test_what_lies_in_files_is_masked_like_what_lies_in_variables(secret: Path) -> None:
    environ = {
        "GITHUB_TOKEN_FILE": str(secret),
        "OTHER_TOKEN_FILE": "/nowhere",
        "A_TOKEN": "0123456789abcdef",
    }
    assert set(environment_secrets(environ=environ)) == {SECRET, "0123456789abcdef"}
