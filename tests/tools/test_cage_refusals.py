"""What the output of a command tells of its cage's refusals."""

from __future__ import annotations

import pytest

from app.tools.shell.refusals import refusals

pytestmark = pytest.mark.requirement("in_use.root")
CAGE = {"fs": [{"mode": "rw", "path": "."}, {"mode": "ro", "path": "docs"}]}


def notes(desk, output: str, folder: str = ".", hosts: tuple[str, ...] = ()) -> list[str]:
    context = desk.as_agent("primary", {**CAGE, "net": {"allow": list(hosts)}}).context
    around = {"PATH": "/usr/bin:/bin"}
    return refusals(output, folder, context, around, lambda _, places: list(places))


@pytest.mark.parametrize(
    ("output", "folder", "line"),
    [
        ("touch: cannot touch 'docs/a b': Read-only file system", ".", "path: docs/a b"),
        ("sh: 1: cannot create AGENTS.md: Read-only file system", ".", "path: AGENTS.md"),
        ("bash: ../AGENTS.md: Read-only file system", "sub", "path: AGENTS.md"),
        ("OSError: [Errno 30] Read-only file system: 'a/.npmrc'", ".", "path: a/.npmrc"),
        ("npm error EROFS: read-only file system, open '{root}/.npmrc'", ".", "path: .npmrc"),
        ("error: could not write {root}/docs/x: Read-only file system (os error 30)", ".", "path: docs/x"),
    ],
)
def test_the_place_that_was_not_written_to_is_found(desk, output: str, folder: str, line: str) -> None:
    (note,) = notes(desk, f"first\n{output.replace('{root}', str(desk.root))}\nlast\n", folder)
    assert f"`fs: [{{ mode: rw, {line} }}]`" in note


def test_hard_names_have_no_line(desk) -> None:
    (note,) = notes(desk, "touch: cannot touch '.git/x': Read-only file system")
    assert "never written" in note and "fs:" not in note


@pytest.mark.parametrize(
    "output",
    [
        "Read-only file system",
        ": Read-only file system",
        "touch: cannot touch '/usr/x': Read-only file system",
        "touch: cannot touch 'src/x': Read-only file system",
        "sh: 1: nosuchprogram: not found",
        ": not found",
        "the function getaddrinfo is in netdb.h",
        "'" * 900 + ": Read-only file system",
    ],
)
def test_what_no_line_can_help_has_no_note(desk, output: str) -> None:
    assert notes(desk, output) == []


def test_at_most_a_few_notes_are_made_of_a_long_output(desk) -> None:
    piece = "x: cannot touch 'docs/" + "'" * 900 + ": Read-only file system\n"
    assert len(notes(desk, piece * 4_000 + "a: not found\n" * 4_000)) <= 5


LOOKED_UP = {
    "curl: (6) Could not resolve host: example.org": "example.org:443",
    "fatal: unable to access 'http://git.example.org:8080/a/': Could not resolve host: git.example.org": (
        "git.example.org:8080"
    ),
    "ssh: Could not resolve hostname git.example.org: Temporary failure in name resolution": (
        "git.example.org:22"
    ),
    "wget: unable to resolve host address ‘example.org’": "example.org:443",
    "ping: example.org: Temporary failure in name resolution": "example.org:443",
    "npm error request to https://registry.npmjs.org/x failed, reason: getaddrinfo EAI_AGAIN "
    "registry.npmjs.org": "registry.npmjs.org:443",
    "Error: getaddrinfo ENOTFOUND example.org": "example.org:443",
    "warning: spurious network error (3 tries remaining): [6] Could not resolve hostname (Could not resolve "
    "host: index.crates.io)": "index.crates.io:443",
    'go: module a: Get "https://proxy.golang.org/a/@v/list": dial tcp: lookup proxy.golang.org on [::1]:53: '
    "read udp [::1]:1->[::1]:53: read: connection refused": "proxy.golang.org:443",
    "HTTPSConnectionPool(host='api.example.org', port=8443): Max retries exceeded with url: / (Caused by "
    "NameResolutionError(: Failed to resolve 'api.example.org' ([Errno -3] Temporary failure in name "
    "resolution)))": "api.example.org:8443",
    "error: error sending request for url (https://pypi.org/simple/six/): dns error: failed to lookup "
    "address information: Temporary failure in name resolution": "pypi.org:443",
    "Caused by: java.net.UnknownHostException: repo.maven.apache.org": "repo.maven.apache.org:443",
    "Failed to open TCP connection to rubygems.org:443 (getaddrinfo: Temporary failure in name "
    "resolution)": "rubygems.org:443",
    "error NU1301: Name or service not known (api.nuget.org:443)": "api.nuget.org:443",
    "Err:1 http://deb.debian.org/debian x InRelease: Temporary failure resolving 'deb.debian.org'": (
        "deb.debian.org:80"
    ),
}


@pytest.mark.parametrize(("output", "place"), LOOKED_UP.items())
def test_the_host_that_a_program_could_not_look_up_is_found(desk, output: str, place: str) -> None:
    (note,) = notes(desk, f"first\n{output}\n{output}\nlast\n")
    assert f'`net: {{ allow: ["{place}"' in note
    assert "no network" in note
    (note,) = notes(desk, output, hosts=("other.example.net:443",))
    assert "is not among the hosts" in note


def test_a_host_that_is_allowed_is_reached_through_the_proxy_only(desk) -> None:
    (note,) = notes(desk, "Error: getaddrinfo EAI_AGAIN pypi.org", hosts=("pypi.org:443",))
    assert "proxy" in note and "allow:" not in note


def test_the_line_for_a_registry_names_all_its_hosts_that_are_not_allowed(desk) -> None:
    output = "Could not resolve host: index.crates.io"
    (note,) = notes(desk, output)
    assert '`net: { allow: ["index.crates.io:443", "static.crates.io:443"] }`' in note
    (note,) = notes(desk, output, hosts=("*.crates.io:80", "static.crates.io:443"))
    assert '`net: { allow: ["index.crates.io:443"] }`' in note


def test_a_lookup_that_names_no_host_offers_the_registries_of_the_project(desk) -> None:
    output = "socket.gaierror: [Errno -3] Temporary failure in name resolution"
    (note,) = notes(desk, output)
    assert '`net: { allow: ["HOST:443"] }`' in note
    (desk.root / "requirements.txt").write_text("six\n")
    (note,) = notes(desk, output)
    assert '`net: { allow: ["pypi.org:443", "files.pythonhosted.org:443"] }`' in note


@pytest.mark.parametrize(
    "output",
    [
        "Could not resolve host: ",
        "Could not resolve host: 127.0.0.1",
        'could not resolve host: `evil" ] }`',
        "getaddrinfo EAI_AGAIN localhost",
    ],
)
def test_what_is_no_name_of_a_host_is_in_no_line(desk, output: str) -> None:
    assert not any(name in note for note in notes(desk, output) for name in ("127.", "evil", "localhost"))
