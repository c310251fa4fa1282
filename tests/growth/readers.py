"""The daemon's readers of what others write: commands, files, answers, terminals; and hard shapes."""

from __future__ import annotations

import base64
import contextlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from random import Random

from app.bridges.pty.plain_text import PlainText
from app.errors import KagedError, ToolError
from app.harness.compaction.facts import _decisions
from app.harness.conversation.estimate import estimate_text
from app.harness.conversation.injection import injection
from app.harness.delegation.answers import proposed_todos, structured
from app.harness.delegation.outside_cage import Outside, SeenLines
from app.harness.issues.search_text import read_search
from app.harness.uploads.names import safe_name
from app.observability import Redactor, names_secret
from app.tools.authorisation.danger_daemon import DaemonWatchdog, _Place, filled_in
from app.tools.authorisation.guard import judge_command
from app.tools.authorisation.patterns import matches
from app.tools.code.hover import split
from app.tools.edit.near_miss import explain
from app.tools.processes.foreign_text import clean
from app.tools.project import justfile, makefile, taskfile
from app.tools.search.glob_pattern import parse_glob
from app.workspace.globs import globs_of
from app.workspace.simple_rules import SimpleRules

Reader = Callable[[str], object]
_ROOT = Path("/project")
LONGEST_PATH = 4_096
"""What Linux takes for a path."""
_GLOBS = ("*a*a*a*b", "**/*a*/**/b", "[a-z]*[0-9]*x", "a?*?*?b")


def watchdog(text: str) -> None:
    for command in (text, f"echo {text} | base64 -d > f"):
        judge_command(command, _ROOT)


def words_of_a_command(text: str) -> None:
    watchdog, agent = DaemonWatchdog(Path("/nowhere"), home=Path("/home/user")), "primary"
    for project in ("/project", "/nowhere/workspaces/project/one/tree"):
        watchdog._names(text, _Place(f"{project}/src", project, Path("/nowhere/scratch"), agent))
    filled_in(text, ())


def rules(text: str) -> None:
    for pattern in _GLOBS:
        for kind in ("command", "path", "host"):
            matches(pattern, text, kind)  # type: ignore[arg-type]  # the three are its kinds


def rules_as_patterns(text: str) -> None:
    matches(text, "git status a b c", "command")
    with contextlib.suppress(KagedError, ToolError):
        parse_glob(text).compiled().match(text)


def redactor(text: str) -> None:
    Redactor(["a-secret-value-of-some-length"]).text(text)
    names_secret(text)


def near_miss(text: str) -> None:
    explain(text, text[:2_000] + "!")
    explain(text[: len(text) // 2], text[len(text) // 2 :] + "!")


def terminal(text: str) -> None:
    plain = PlainText()
    plain.feed(text.encode("utf-8", "replace"))
    plain.finish()


def documentation(text: str) -> None:
    split(text)
    clean(text, 100_000)


def forwarded_messages(text: str) -> None:
    seen = SeenLines()
    seen._add("secret.txt", text)
    Outside(seen, lambda path: False).without(text)


def answers_of_children(text: str) -> None:
    proposed_todos(text)
    structured(text, {"type": "object"})


def compaction(text: str) -> None:
    _decisions(text)
    estimate_text(text)


def plugin_text(text: str) -> None:
    injection("plugin", text)


def searches(text: str) -> None:
    with contextlib.suppress(KagedError, ToolError):
        read_search(text)


def names_of_uploads(text: str) -> None:
    safe_name(text)


def recipes(text: str) -> None:
    justfile.recipes(text)
    makefile.targets(text)
    taskfile.tasks(text)


def ignore_files(text: str) -> None:
    lines = text.encode("utf-8", "replace")
    SimpleRules.parse(lines).ignore("a/b/c", is_folder=False)
    SimpleRules.parse(b"*a*a\n[a-z]*b*\n").ignore(text[:LONGEST_PATH], is_folder=False)


def globs_of_language_servers(text: str) -> None:
    for pattern in (*_GLOBS, text):
        for glob in globs_of(pattern):
            glob.matches(text[:LONGEST_PATH].split("/"))


READERS: tuple[Reader, ...] = (
    watchdog,
    words_of_a_command,
    rules,
    rules_as_patterns,
    redactor,
    near_miss,
    terminal,
    documentation,
    forwarded_messages,
    answers_of_children,
    compaction,
    plugin_text,
    searches,
    names_of_uploads,
    recipes,
    ignore_files,
    globs_of_language_servers,
)
_PUMPS = (
    *(
        "a",
        "a ",
        "a\n",
        "a/",
        "/",
        " ",
        "\n",
        "\r",
        "-",
        "--a=",
        "a=",
        "a='",
        '"',
        "'",
        "`",
        "\\",
        "\\\n",
        "$",
    ),
    *(
        "$(",
        "${",
        "$((",
        "(",
        ")",
        "{",
        "{a,",
        "a{",
        "[",
        "[a",
        "*",
        "?",
        "<",
        "<<",
        "<(",
        "|",
        ";",
        "&",
        "#",
    ),
    *("![", "](", "- [ ] ", "```\n", "eyJ", "curl -u ", "mysql -p", "token=", "://", "@", "\x1b", "\x1b[1K"),
    *(
        "\x1b]",
        "a\b",
        "\ra",
        "dd of=",
        "wget ",
        "rm -r ",
        "f(){",
        "decided ",
        "a:\n",
        "\t",
        "%",
        "\u009b",
        "é",
    ),
)


def shapes(reader: Reader) -> Iterator[tuple[str, Callable[[int], str]]]:
    """Yield each shape's name and what makes a text of a size of it."""
    for pump in _PUMPS:
        yield f"{pump!r} * n", partial(_repeated, pump)
    yield "one word of base64", _one_word


def _repeated(pump: str, size: int) -> str:
    return (pump * (size // len(pump) + 1))[:size] + "\x01"


def _one_word(size: int) -> str:
    return base64.b64encode(Random(1).randbytes(size)).decode()[:size]
