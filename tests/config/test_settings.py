"""The local configuration: what may be written, where it comes from, how mistakes are told."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.config import MASK, Settings, child_environment, load_settings, redacted, secret_values
from app.errors import ConfigError


@pytest.fixture
def load(tmp_path: Path) -> Any:
    """Load settings from the text of a config file and an environment of the test's own."""

    def from_text(
        text: str = "", environ: Mapping[str, str] | None = None, overrides: Mapping[str, Any] | None = None
    ) -> Settings:
        path = tmp_path / "config.toml"
        path.write_text(text)
        return load_settings(config_file=path, environ=environ or {}, overrides=overrides)

    return from_text


def problems(error: pytest.ExceptionInfo[ConfigError]) -> dict[str, dict[str, str]]:
    return {entry["key"]: entry for entry in error.value.details["problems"]}


def test_without_any_configuration_everything_has_a_value(load: Any) -> None:
    settings = load()
    assert (settings.daemon.host, settings.daemon.port, settings.auth.mode) == ("127.0.0.1", 7777, "token")
    assert settings.storage.url is None
    assert set(settings.providers) == {
        "openai",
        "openai-responses",
        "anthropic",
        "google",
        "ollama",
        "replay",
    }
    assert settings.daemon.data_dir.is_absolute()


def test_flag_beats_environment_beats_file_beats_default(load: Any) -> None:
    text = '[daemon]\nbind = "127.0.0.2:1000"\nheartbeat_seconds = 3\n'
    assert load(text).daemon.port == 1000
    assert load(text, {"KAGED_DAEMON__PORT": "2000"}).daemon.port == 2000
    both = load(text, {"KAGED_DAEMON__PORT": "2000"}, {"daemon.port": 3000}).daemon
    assert (both.port, both.host, both.heartbeat_seconds) == (3000, "127.0.0.2", 3.0)


@pytest.mark.parametrize(
    ("bind", "host", "port"),
    [("0.0.0.0:80", "0.0.0.0", 80), ("[::1]:7000", "::1", 7000), ("box:0", "box", 0)],
)
def test_bind_is_host_and_port(load: Any, bind: str, host: str, port: int) -> None:
    daemon = load(f'[daemon]\nbind = "{bind}"\n').daemon
    assert (daemon.host, daemon.port) == (host, port)


def test_bind_without_a_port_says_what_to_write(load: Any) -> None:
    with pytest.raises(ConfigError, match=r'must be "host:port"'):
        load('[daemon]\nbind = "localhost"\n')


def test_an_unknown_key_names_the_file_the_key_and_the_nearest_known_key(load: Any, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as error:
        load("[daemon]\nprot = 1\n")
    assert error.value.message == (
        f"{tmp_path / 'config.toml'}: daemon.prot is not a known key; did you mean daemon.port?"
    )


def test_all_mistakes_are_reported_at_once_each_with_its_source(load: Any) -> None:
    with pytest.raises(ConfigError) as error:
        load(
            '[auth]\nmod = "token"\n[limits]\nsessions_per_project = "many"\n'
            '[lsp.servers.python]\ncommand = ["a"]\nextension = [".py"]\n[mcp.x]\nurl = "ftp://x"\n',
            {"KAGED_DAEMON__PORT": "http"},
        )
    found = problems(error)
    assert found["auth.mod"]["nearest"] == "auth.mode"
    assert found["limits.sessions_per_project"]["message"] == "must be a whole number"
    assert found["lsp.servers.python.extension"]["nearest"] == "lsp.servers.python.extensions"
    assert "http://" in found["mcp.x.url"]["message"]
    assert found["daemon.port"]["source"] == "KAGED_DAEMON__PORT"


@pytest.mark.parametrize("name", ["config_file", "missing_env"])
def test_what_the_loader_fills_in_cannot_be_set(load: Any, name: str) -> None:
    with pytest.raises(ConfigError, match="is not a known key"):
        load(f'{name} = "x"\n')


def test_a_file_that_is_not_toml_is_refused_with_the_line(load: Any) -> None:
    with pytest.raises(ConfigError, match=r"config\.toml: not valid TOML: .*line 2"):
        load("[daemon]\nport = = 1\n")


def test_a_config_file_that_was_named_must_exist(tmp_path: Path) -> None:
    missing = tmp_path / "none.toml"
    with pytest.raises(ConfigError, match=r"command line: there is no config file"):
        load_settings(config_file=missing, environ={})
    with pytest.raises(ConfigError, match=r"KAGED_CONFIG: there is no config file"):
        load_settings(environ={"KAGED_CONFIG": str(missing)})


def test_the_environment_names_the_config_file(tmp_path: Path) -> None:
    path = tmp_path / "other.toml"
    path.write_text("[daemon]\nport = 4321\n")
    settings = load_settings(environ={"KAGED_CONFIG": str(path)})
    assert (settings.daemon.port, settings.config_file) == (4321, path)


def test_models_and_aliases_are_the_same_table_and_a_list_is_a_chain(load: Any) -> None:
    models = load(
        '[models]\nsmart = ["openai:gpt", "ollama:llama:8b"]\n[aliases]\nfast = "anthropic:small"\n'
    ).models
    assert models == {"smart": ("openai:gpt", "ollama:llama:8b"), "fast": ("anthropic:small",)}
    with pytest.raises(ConfigError, match=r"both \[models\] and \[aliases\]"):
        load('[models]\na = "openai:x"\n[aliases]\na = "openai:y"\n')


def test_a_model_of_a_provider_that_is_not_configured_names_the_nearest(load: Any) -> None:
    with pytest.raises(ConfigError) as error:
        load('[models]\nsmart = "anthropc:opus"\nodd = "opus"\n')
    assert problems(error)["models.smart"]["nearest"] == "anthropic"
    assert "provider:model" in problems(error)["models.odd"]["message"]


@pytest.mark.requirement("providers.credentials")
def test_a_credential_comes_from_the_file_a_reference_a_named_variable_or_the_usual_one(load: Any) -> None:
    environ = {"MINE": "secret-one", "OTHER": "secret-two", "GOOGLE_API_KEY": "secret-three"}
    providers = load(
        '[providers.openai]\napi_key = "${MINE}"\n'
        '[providers.anthropic]\napi_key_env = "OTHER"\n'
        '[providers.vllm]\ndriver = "openai"\nbase_url = "http://box:8000/v1"\napi_key = "written"\n',
        environ,
    ).providers
    keys = {name: entry.api_key.get_secret_value() for name, entry in providers.items() if entry.api_key}
    assert keys == {
        "openai": "secret-one",
        "anthropic": "secret-two",
        "google": "secret-three",
        "vllm": "written",
    }


@pytest.mark.requirement("providers.credentials")
def test_a_missing_variable_is_no_credential_and_is_named(load: Any) -> None:
    settings = load(
        '[providers.openai]\napi_key = "${NOT_SET}"\n[providers.anthropic]\napi_key_env = "NOT_SET_EITHER"\n'
    )
    assert settings.providers["openai"].api_key is None
    assert settings.providers["openai"].missing_env == ("NOT_SET",)
    assert settings.providers["anthropic"].missing_env == ("NOT_SET_EITHER",)
    assert settings.providers["google"].missing_env == ("GEMINI_API_KEY", "GOOGLE_API_KEY")
    assert settings.missing_env == {
        "providers.openai.api_key": "NOT_SET",
        "providers.anthropic.api_key": "NOT_SET_EITHER",
    }


def test_a_missing_variable_outside_credentials_is_an_error(load: Any) -> None:
    with pytest.raises(
        ConfigError, match=r"storage\.url refers to the environment variable DATABASE, which is not"
    ):
        load('[storage]\nurl = "${DATABASE}"\n')


def test_lower_case_placeholders_of_other_programs_stay_as_they_are(load: Any) -> None:
    adapter = load('[dap.adapters.node]\nlaunch = { program = "${file}" }\n').dap.adapters["node"]
    assert adapter.launch == {"program": "${file}"}


def test_a_variable_reaches_names_with_a_hyphen_and_takes_lists(load: Any) -> None:
    settings = load(
        environ={
            "KAGED_PROVIDERS__OPENAI_RESPONSES__TIMEOUT": "7",
            "KAGED_MODELS__SMART": "openai:a, ollama:b",
            "KAGED_AUTH__ALLOWED_HOSTS": '["a.example", "b.example"]',
            "KAGED_STORAGE__URL": "",
        }
    )
    assert settings.providers["openai-responses"].timeout_seconds == 7.0
    assert settings.models["smart"] == ("openai:a", "ollama:b")
    assert settings.auth.allowed_hosts == ("a.example", "b.example")
    assert settings.storage.url is None


def test_paths_in_the_file_are_relative_to_the_file(load: Any, tmp_path: Path) -> None:
    settings = load('[daemon]\ndata_dir = "data"\n[providers.replay]\ntranscript = "demo.yaml"\n')
    assert settings.daemon.data_dir == tmp_path / "data"
    assert settings.providers["replay"].transcript == tmp_path / "demo.yaml"


def test_the_data_folder_has_its_real_name(load: Any, tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "linked").symlink_to("disk")
    assert load('[daemon]\ndata_dir = "linked/data"\n').daemon.data_dir == tmp_path / "disk" / "data"
    settings = load(overrides={"daemon.data_dir": tmp_path / "elsewhere" / ".." / "data"})
    assert settings.daemon.data_dir == tmp_path / "data"
    with pytest.raises(ConfigError) as error:
        load('[daemon]\ndata_dir = "a\\u0000b"\n')
    assert "NUL" in problems(error)["daemon.data_dir"]["message"]


@pytest.mark.requirement("cages.kernel.launch")
def test_folders_that_every_cage_sees_are_relative_to_the_file(load: Any, tmp_path: Path) -> None:
    settings = load('[sandbox]\nread_only = ["/opt/go", "tools"]\n')
    assert settings.sandbox.read_only == (Path("/opt/go"), tmp_path / "tools")


@pytest.mark.requirement("cages.kernel.launch")
@pytest.mark.parametrize("folder", ["/", "/opt/../.."])
def test_no_setting_shows_every_cage_the_whole_machine(load: Any, folder: str) -> None:
    with pytest.raises(ConfigError) as refused:
        load(f'[sandbox]\nread_only = ["{folder}"]\n')
    assert "sandbox.read_only.0 must be an absolute folder below /" in refused.value.message


@pytest.mark.requirement("security.trust")
@pytest.mark.parametrize("folder", ["shop", ".", "./shop", "[/srv", "/", "/srv/.."])
def test_trust_is_given_to_absolute_folders_only(load: Any, folder: str) -> None:
    """A relative one would trust whatever folder a command is run in."""
    variable = "KAGED_PROJECTS__TRUSTED"
    with pytest.raises(ConfigError) as refused:
        load("", environ={variable: f"/srv/one,{folder}"})
    assert f"{variable}: projects.trusted.1 must be an absolute folder" in refused.value.message
    with pytest.raises(ConfigError, match=r"projects\.trusted\.0 must be an absolute folder"):
        load(f'[projects]\ntrusted = ["{folder}"]\n')


def test_a_credential_written_twice_is_refused(load: Any) -> None:
    with pytest.raises(ConfigError, match="are both set"):
        load('[providers.openai]\napi_key = "a"\napi_key_env = "B"\n')


def test_search_providers_have_a_long_and_a_short_form(load: Any) -> None:
    several = '[search.providers.searxng]\nbase_url = "http://127.0.0.1:8888"\n[search.providers.brave]\n'
    found = load(several, {"BRAVE_SEARCH_API_KEY": "usual"}).search.providers
    assert list(found) == ["searxng", "brave"]
    assert found["brave"].api_key.get_secret_value() == "usual"
    assert load(several).search.providers["brave"].missing_env == ("BRAVE_API_KEY", "BRAVE_SEARCH_API_KEY")
    short = '[search]\nprovider = "tavily"\napi_key_env = "MINE"\n'
    found = load(short, {"MINE": "own", "TAVILY_API_KEY": "usual"}).search.providers
    assert found["tavily"].api_key.get_secret_value() == "own"
    missing = load(short)
    assert missing.search.providers["tavily"].missing_env == ("MINE",)
    assert missing.missing_env == {"search.providers.tavily.api_key": "MINE"}
    referred = load('[search]\nprovider = "exa"\napi_key = "${NOT_SET}"\n')
    assert referred.search.providers["exa"].missing_env == ("NOT_SET",)
    variables = {"KAGED_SEARCH__PROVIDERS__EXA__API_KEY": "k", "KAGED_SEARCH__CALLS_PER_SESSION": "3"}
    by_variables = load("", variables).search
    assert (list(by_variables.providers), by_variables.calls_per_session) == (["exa"], 3)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[search]\nprovider = "brave"\n[search.providers.brave]\n', "are both set"),
        ('[search]\napi_key = "x"\n', "has no effect without search.provider"),
        ('[search]\nprovider = "bing"\nbase_url = "http://a.test"\n', "must be one of"),
        ("[search.providers.bing]\n", "must be one of"),
        ('[search.providers.brave]\nbase_url = "a.test"\n', "begins with http"),
        ('[search.providers.brave]\nmissing_env = ["A"]\n', "is not a known key"),
        ('[search.providers.brave]\napi_kee = "A"\n', "did you mean search.providers.brave.api_key"),
    ],
)
def test_wrong_search_settings_are_explained(load: Any, text: str, said: str) -> None:
    with pytest.raises(ConfigError) as error:
        load(text)
    assert said in error.value.message


def test_no_secret_is_in_what_may_be_shown(load: Any) -> None:
    settings = load(
        '[storage]\nurl = "postgresql://kaged:pass-word@db/kaged"\n[auth]\nproxy_nonce = "nonce-value"\n'
        '[providers.openai]\napi_key = "sk-openai"\nheaders = { Authorization = "Bearer header-value" }\n'
        '[providers.openai.options]\nextra_token = "option-value"\n'
        '[mcp.files]\ncommand = ["server"]\nenv = { API_TOKEN = "mcp-value" }\n'
        '[langfuse]\nsecret_key = "langfuse-value"\n'
        '[search.providers.exa]\napi_key = "exa-value"\n[search.providers.searxng]\n'
        'base_url = "http://me:searxng-value@a.test"\n'
    )
    secrets = (
        "pass-word",
        "nonce-value",
        "sk-openai",
        "header-value",
        "option-value",
        "mcp-value",
        "langfuse-value",
        "exa-value",
        "searxng-value",
    )
    for shown in (str(redacted(settings)), repr(settings)):
        assert not [secret for secret in secrets if secret in shown]
    assert set(secrets) <= set(secret_values(settings))
    assert redacted(settings)["providers"]["openai"]["api_key"] == MASK


def test_an_error_about_a_secret_does_not_quote_it(load: Any) -> None:
    with pytest.raises(ConfigError) as error:
        load('[providers.openai]\napi_key = ["sk-very-secret"]\nbase_url = "sk-very-secret"\n')
    assert "sk-very-secret" not in error.value.message + str(error.value.details)


def test_children_get_neither_settings_nor_secrets() -> None:
    environ = {
        "PATH": "/bin",
        "HOME": "/h",
        "OPENAI_API_KEY": "a",
        "GITHUB_TOKEN": "b",
        "KAGED_DAEMON__PORT": "1",
    }
    assert child_environment(environ=environ) == {"PATH": "/bin", "HOME": "/h"}


@pytest.mark.parametrize(
    "name",
    [
        "OPENAI_API_KEY_2",
        "API_KEYS",
        "SECRET_KEY_BASE",
        "DB_PASS",
        "MYSQL_PWD",
        "GH_PAT",
        "SENTRY_DSN",
        "app_secrets",
        "AWS_ACCESS_KEY_ID",
        "TOKEN_GITHUB",
        "SSH_PASSPHRASE",
        "DOCKER_AUTH_CONFIG",
        "GOOGLE_CREDENTIALS_JSON",
    ],
)
def test_a_secret_is_known_by_its_name_wherever_the_word_stands(name: str) -> None:
    assert child_environment(environ={name: "x"}) == {}


def test_what_only_resembles_a_secret_reaches_children() -> None:
    environ = dict.fromkeys(
        ("PWD", "OLDPWD", "TOKENIZERS_PARALLELISM", "KEYBOARD", "SSH_AUTH_SOCK", "PATH"), "x"
    )
    assert child_environment(environ=environ) == environ


TOML_SCALARS = st.one_of(
    st.integers(-5, 70_000), st.booleans(), st.text(max_size=8), st.lists(st.text(max_size=3))
)


@given(
    section=st.sampled_from([*Settings.model_fields, "nonsense"]),
    key=st.sampled_from(["port", "mode", "driver", "url", "x", "api_key", "command"]),
    value=st.one_of(TOML_SCALARS, st.dictionaries(st.text(min_size=1, max_size=5), TOML_SCALARS, max_size=2)),
)
def test_whatever_is_set_there_are_settings_or_a_config_error(section: str, key: str, value: Any) -> None:
    try:
        settings = load_settings(environ={}, overrides={f"{section}.{key}": value})
    except ConfigError as error:
        assert error.message
    else:
        assert isinstance(redacted(settings), dict)


def test_commas_separate_folders_in_the_environment(load: Any, tmp_path: Path) -> None:
    settings = load(
        environ={"KAGED_SANDBOX__READ_ONLY": f"{tmp_path}/a, ~/b", "KAGED_PLUGINS__PATHS": f"{tmp_path}/p"}
    )
    assert settings.sandbox.read_only == (tmp_path / "a", Path.home() / "b")
    assert settings.plugins.paths == (tmp_path / "p",)


@pytest.mark.requirement("durability.broken_config")
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = " + "[" * 5_000 + "]" * 5_000, "brackets are nested too deeply"),
        ("[models]\nx = " + "{a = " * 5_000 + "1" + "}" * 5_000, "brackets are nested too deeply"),
        (".".join("a" * 5_000) + " = 1", "nested more than 32 levels deep"),
        ("[" + ".".join("a" * 5_000) + "]\nb = 1", "nested more than 32 levels deep"),
        ("x = " + "[" * 40 + "]" * 40, "nested more than 32 levels deep"),
        ("x = " + "9" * 5_000, "not valid TOML: .*4300 digits"),
        ("[daemon]\nport = -" + "9" * 5_000, "not valid TOML: .*4300 digits"),
    ],
)
def test_a_file_that_no_parser_takes_is_reported_in_a_sentence(load: Any, text: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said) as told:
        load(text)
    assert "sys." not in told.value.message


@pytest.mark.requirement("durability.broken_config")
@pytest.mark.parametrize("value", ["[" * 5_000, "{a = " + "9" * 5_000 + "}"])
def test_a_variable_that_no_parser_takes_is_reported_by_its_name(load: Any, value: str) -> None:
    with pytest.raises(ConfigError) as told:
        load(environ={"KAGED_DAEMON__PORT": value})
    assert problems(told)["daemon.port"]["source"] == "KAGED_DAEMON__PORT"


@pytest.mark.requirement("durability.broken_config")
def test_a_variable_with_thousands_of_sections_is_refused_by_its_name(load: Any) -> None:
    name = "KAGED_" + "__".join("B" * 5_000)
    with pytest.raises(ConfigError, match=r"^KAGED_B__B.*nested more than 32 levels deep"):
        load(environ={name: "1"})


@pytest.mark.parametrize(
    "address",
    [
        "kaged-1.example.org",
        "https://",
        "http://me:secret@one",
        "https://one/?a=1",
        "ftp://one",
        "https://a b",
    ],
)
@pytest.mark.requirement("replicas.forwarding")
def test_an_address_at_which_no_daemon_can_be_reached_is_refused_in_words(load: Any, address: str) -> None:
    with pytest.raises(ConfigError) as error:
        load(f'[storage]\nreplica_url = "{address}"\n')
    said = str(problems(error)["storage.replica_url"])
    assert "the other daemons reach this one" in said and "https://kaged-1.example.org" in said
    assert (
        load('[storage]\nreplica_url = "https://one:1/shop/"\n').storage.replica_url == "https://one:1/shop"
    )
