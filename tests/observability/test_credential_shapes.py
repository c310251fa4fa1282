"""What looks like a credential is masked, what only talks of one is not, and no text takes long."""

from __future__ import annotations

import time

import pytest

from app.config.environment import environment_secrets
from app.observability import MASK, Metrics, Redactor
from app.observability.metrics import TOOL_CALLS

pytestmark = pytest.mark.requirement("daemon.redaction")

LETTERS = "abcdEFGH0123" * 5
CAPITALS = "ABCDEFGH01234567"

# Put together here, so that this file holds nothing that a scanner of secrets would report.
SECRETS = {
    "daemon": "kgd_" + LETTERS,
    "openai": "sk-" + LETTERS,
    "anthropic": "sk-ant-api03-" + LETTERS,
    "stripe": "sk_live_" + LETTERS,
    "github": "ghp_" + LETTERS,
    "github app": "ghs_" + LETTERS,
    "github fine": "github_pat_" + LETTERS,
    "gitlab": "glpat-" + LETTERS,
    "aws id": "AKIA" + CAPITALS,
    "aws session id": "ASIA" + CAPITALS,
    "google": "AIza" + LETTERS,
    "google oauth": "ya29." + LETTERS,
    "slack": "xoxb-" + LETTERS,
    "npm": "npm_" + LETTERS,
    "pypi": "pypi-" + LETTERS,
    "hugging face": "hf_" + LETTERS,
    "jwt": f"eyJ{LETTERS}.eyJ{LETTERS}.{LETTERS}",
    "encrypted jwt": f"eyJ{LETTERS}.{LETTERS}.{LETTERS}.{LETTERS}.{LETTERS}",
}

# The text, and the part of it that must be gone.
IN_A_PLACE = [
    ("Authorization: Bearer abc-def-123", "abc-def-123"),
    ("authorization: Basic dXNlcjpwYXNz", "dXNlcjpwYXNz"),
    ("curl -H 'X-Api-Key: one two three' u", "one two three"),
    ("Cookie: kaged_session_7777=abcdef; other=1", "abcdef"),
    ('{"Authorization": "token abcdefgh"}', "abcdefgh"),
    ("postgresql://me:hunter2@db.example/x", "hunter2"),
    ("redis://:s3@cache", "s3"),
    ("https://abcdefghijklmnopqrstuvwx@git.example/x", "abcdefghijklmnopqrstuvwx"),
    ("GET /x?access_token=abcd1234&page=2", "abcd1234"),
    ("GET /x?page=2&X-Amz-Signature=abcd1234", "abcd1234"),
    ("export DATABASE_PASSWORD=hunter2; make", "hunter2"),
    ("AWS_SECRET_ACCESS_KEY='wJalr/XUtn+FEMI'", "wJalr/XUtn+FEMI"),
    ("mysql --password hunter2 -u me", "hunter2"),
    ("deploy --api-key=hunter2", "hunter2"),
    ('{"client_secret": "hunter2", "n": 1}', "hunter2"),
    ("-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNz\n-----END OPENSSH PRIVATE KEY-----", "b3BlbnNz"),
    ("-----BEGIN PRIVATE KEY-----\nMIIEvQIB cut off he", "MIIEvQIB"),
    ("https://hooks.slack.com/services/T000/B000/XXXXXXXXXXXX", "XXXXXXXXXXXX"),
    ("mysql -phunter2", "hunter2"),
    ("mysql -u root -h db -phunter2 shop < dump.sql", "hunter2"),
    ("/usr/bin/mysqldump -uroot -p'hunter2 and more' shop > x", "hunter2 and more"),
    ('sudo mysql -sNphunter2 -e "select 1; select 2"', "hunter2"),
    ("mysql -e 'use a; select 1 | 2' -phunter2", "hunter2"),
    ("docker exec mysql mysql -u me \\\n  -phunter2", "hunter2"),
    ("sh -c 'cd x && mariadb-admin -phunter2 ping'; ls", "hunter2"),
    ("mysql -p shop; mysql -phunter2", "hunter2"),
    ("curl -u me:hunter2 https://db.example/x", "hunter2"),
    ("curl --user me:hunter2 https://db.example/x", "hunter2"),
    ("curl --user=me:hunter2 https://db.example/x", "hunter2"),
    ("curl -sSfu 'me:hunter2 and more' https://db.example/x", "hunter2 and more"),
    ("curl -d '{\"a;b\": 1}' -XPOST https://db.example/x -ume:hunter2", "hunter2"),
    ('curl https://a.example; curl -L --proxy-user "me:hunter2" x', "hunter2"),
    ("curl -u :hunter2 x | jq .", "hunter2"),
]

HARMLESS = [
    "input_tokens=1200 output_tokens=34 token_count=8 max_tokens: 4096",
    "Send `Authorization: Bearer <token>`, or open the launch link.",
    "the secret of the tokenizer: a password must have eight letters",
    "git commit -m 'token handling'",
    "cache_key=abcdef sort_key=name primary key = id",
    "https://example.org/a?page=2&sort=name#token",
    "http://127.0.0.1:7777/api/v1/projects",
    "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
    "skip-this-really-long-name, task-0123456789abcdef0123",
    "password=None token=null secret=false",
    "See tests/test_tokens.py::test_token[ok] and app/secrets/keys.py:12",
    "serve -p 8080; docker run -p8080:80 -u 1000:1000 mysql",
    "mysql -u root -p shop -P3306 --port=3306 --protocol=tcp",
    "mysql; ssh -p2222 host && mkdir -p a/b | tar -xpf a.tar",
    "curl x\nssh -p2222 me@host; docker exec --user 1000:1000 box sh",
    "curl -u root https://db.example/x:y -U me -o a:b",
    "curl -u me: -X PUT 'http://db.example:80/x' && chown -u a:b c",
    "the mysql server; curl",
]


@pytest.mark.parametrize("kind", sorted(SECRETS))
def test_keys_of_services_are_masked_wherever_they_stand(kind: str) -> None:
    secret = SECRETS[kind]
    for text in (secret, f"a {secret} b", f'"{secret}"', f"x={secret}&y", f"({secret}).", f"\n{secret}\n"):
        assert secret not in Redactor().text(text)
        assert MASK in Redactor().text(text)


@pytest.mark.parametrize(("text", "secret"), IN_A_PLACE)
def test_what_stands_where_secrets_stand_is_masked(text: str, secret: str) -> None:
    cleaned = Redactor().text(text)
    assert secret not in cleaned
    assert MASK in cleaned
    assert Redactor().text(cleaned) == cleaned


@pytest.mark.parametrize("text", HARMLESS)
def test_what_only_talks_of_secrets_stays_as_it_is(text: str) -> None:
    assert Redactor().text(text) == text


@pytest.mark.parametrize(
    "piece",
    ["://", "token", "-token", " --token", "key=", "a.key", "authorization:", '"token": "', "eyJ", "eyJ-",
     "_", "x", "-----BEGIN PRIVATE KEY-----", "bearer ", "?token=", "\\", "mysql ", "mysql -p ", "mysql '",
     "mysql -p\"x", "mysql \"';", "curl ", "curl -u ", "curl -u x ", "curl -u 'a:", "mysql \\\n",
     "curl -uuuu"],
)  # fmt: skip
def test_the_time_for_a_text_grows_with_its_length(piece: str) -> None:
    def seconds(length: int) -> float:
        text = (piece * (length // len(piece) + 1))[:length]
        started = time.process_time()
        Redactor().text(text)
        return time.process_time() - started

    # Were it quadratic, the second would take some three hundred times as long as the first.
    assert seconds(340_000) < 60 * max(seconds(20_000), 0.005)


def test_keys_and_what_is_deep_inside_are_cleaned_too() -> None:
    secret = SECRETS["github"]
    data = Redactor().data({secret: 1, "a": [{"b": ({"c": f"x {secret}"},)}], "n": None})
    assert data == {MASK: 1, "a": [{"b": [{"c": f"x {MASK}"}]}], "n": None}


def test_a_known_secret_that_a_text_was_cut_in_is_masked_too() -> None:
    redactor = Redactor(["first-known-secret-value", "second-known-secret"])
    assert redactor.text("see first-known-se") == f"see {MASK}"
    assert redactor.text("see second-known-secret and second-kno") == f"see {MASK} and {MASK}"
    assert redactor.text("see the first-k") == "see the first-k"


def test_what_is_said_loses_only_the_long_known_secrets() -> None:
    redactor = Redactor(["short1", 'quoted"and\\long-secret', "plain-long-secret-value"])
    said = {"text": "short1 plain-long-secret-value", "more": ['a quoted"and\\long-secret'], "n": 1}
    assert redactor.known(said) == {"text": f"short1 {MASK}", "more": [f"a {MASK}"], "n": 1}
    untouched = {"text": f"short1 {SECRETS['github']}"}
    assert redactor.known(untouched) is untouched
    assert redactor.known("half \ud800 plain-long-secret-value") == f"half \ud800 {MASK}"
    assert redactor.known(["half \ud800", "plain-long-secret-value"]) == ["half \ud800", MASK]


def test_labels_of_metrics_hold_no_credentials() -> None:
    metrics = Metrics()
    metrics.count(TOOL_CALLS, SECRETS["openai"], "failed")
    metrics.count(TOOL_CALLS, SECRETS["openai"], "failed")
    assert metrics.snapshot().counters[TOOL_CALLS] == {(MASK, "failed"): 2.0}


def test_secrets_of_the_environment_are_known() -> None:
    environ = {
        "DEPLOY_TOKEN": "a-token-of-the-environment",
        "MY_SECRET_NAME": "short",
        "HOME": "/home/somebody/with/a/long/name",
        "KAGED_DAEMON__DATA_DIR": "/var/lib/kaged/data/folder",
    }
    assert environment_secrets(environ=environ) == ("a-token-of-the-environment",)
