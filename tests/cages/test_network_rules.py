"""What a cage's `net` entries allow, spelled in every way that somebody might hope for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.cages.network_rules import NetworkRules, NumericHost, Target, host_name

pytestmark = pytest.mark.requirement("cages.net.proxy")

RULES = NetworkRules.of(["api.example.org:443", "*.one.test:80", "any.test", "*.*.bad", "10.0.0.1:80"])


@pytest.mark.parametrize(
    ("host", "port", "allowed"),
    [
        ("api.example.org", 443, True),
        ("api.example.org", 80, False),
        ("x.api.example.org", 443, False),
        ("example.org", 443, False),
        ("evilapi.example.org", 443, False),
        ("a.one.test", 80, True),
        ("a.b.one.test", 80, True),
        ("one.test", 80, False),
        ("evilone.test", 80, False),
        ("one.test.evil.example", 80, False),
        ("a.one.test", 443, False),
        ("any.test", 1, True),
        ("any.test", 65_535, True),
        ("10.0.0.1", 80, False),
        ("x.y.bad", 80, False),
    ],
)
def test_a_host_is_allowed_exactly_or_strictly_below_a_star(host: str, port: int, allowed: bool) -> None:
    assert RULES.allows(host, port) is allowed


def test_without_a_port_a_host_is_allowed_only_where_every_port_is() -> None:
    assert RULES.allows("any.test", None)
    assert not RULES.allows("api.example.org", None)


def test_nothing_is_allowed_by_no_entry_and_by_entries_that_are_none() -> None:
    assert not NetworkRules.of([])
    assert not NetworkRules.of(["127.0.0.1:80", "[::1]:80", "a b", "a:0", "a:99999", "http://a.test", ""])
    assert NetworkRules.of([]).in_words() == "it allows no network at all"


@pytest.mark.parametrize(
    "text",
    [
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "a.0x7f",
        "a.0X7F",
        "1.2.3.4.",
        "[::1]",
        "::1",
        "fe80::1%eth0",
        "[::ffff:127.0.0.1]",
        "１２７.0.0.1",
        "1。2。3。4",
        "x.42",
    ],
)
def test_whatever_could_be_read_as_an_address_is_refused_as_one(text: str) -> None:
    with pytest.raises(NumericHost):
        host_name(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        ".",
        "a..b",
        ".a",
        "a..",
        "a b",
        "a\0.test",
        "a.test\0.one.test",
        "a\n",
        "a%2e.test",
        "a/b",
        "a@b",
        "a\\b",
        "-a.test",
        "a-.test",
        "a" * 64,
        ".".join(["a" * 60] * 5),
        "\ud800.test",
        "é" * 300,
        "a#b",
    ],
)
def test_what_is_no_name_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no host name"):
        host_name(text)


def test_one_name_has_one_spelling() -> None:
    assert host_name("API.Example.ORG.") == "api.example.org"
    assert host_name("BÜCHER.example") == host_name("xn--bcher-kva.example") == "xn--bcher-kva.example"
    assert host_name("ａｐｉ.example.org") == "api.example.org"


LABELS = st.sampled_from(["a", "b", "ab", "x-y"])
HOSTS = st.lists(LABELS, min_size=1, max_size=4).map(".".join)
TARGETS = st.builds(Target, HOSTS, st.booleans(), st.sampled_from([None, 80, 443])).filter(
    lambda one: "." in one.host or not one.below
)


@given(TARGETS, TARGETS, HOSTS, st.sampled_from([80, 443, 8080]))
def test_what_covers_allows_all_of_the_other_and_what_meets_allows_what_both_do(
    one: Target, other: Target, host: str, port: int
) -> None:
    def allows(target: Target | None) -> bool:
        return target is not None and NetworkRules((target,)).allows(host, port)

    if one.covers(other) and allows(other):
        assert allows(one)
    assert allows(one.meeting(other)) == (allows(one) and allows(other))
    assert Target.parse(str(one)) == one


@pytest.mark.requirement("security.strict_http")
@pytest.mark.parametrize("text", ["*.com:*", "*.com", "*.com:443", "*.COM.", "*.localhost:80", "*.xn--p1ai"])
def test_all_of_a_top_level_domain_is_no_pattern(text: str) -> None:
    with pytest.raises(ValueError, match="top-level domain"):
        Target.parse(text)
    assert not NetworkRules.of([text]).allows("example.com", 443)
