"""Patterns, globs and files that would make a search do something else than search."""

from __future__ import annotations

from typing import Any

from tests.attacks.case import Case, tool, worked
from tests.attacks.place import NEIGHBOUR
from tests.attacks.scene import Scene, unique

AREA = "grep"
GOOD = {"pattern": "neighbour", "path": "src", "output_mode": "content"}

PATTERNS = {
    "option-runs-a-program": "--pre=<project>/src/to_program",
    "option-reads-patterns": "--file=<outside>/secret.txt",
    "option-short": "-f<outside>/secret.txt",
    "option-follows-links": "--follow",
    "option-lists-files": "--files",
    "option-debug": "--debug",
    "two-dashes": "--",
    "own-e": "-e . <outside>",
    "option-host-name-program": "--hostname-bin=<project>/src/to_program",
    "catastrophic": "(a+)+$" * 20,
    "giant-repetition": "a{1000}{1000}{1000}",
    "newline": "neighbour\n--pre=<project>/src/to_program",
}

INCLUDES = {
    "include-above": "../**",
    "include-absolute": "<outside>/**",
    "include-option": "--pre=<project>/src/to_program",
    "include-many-braces": "{a,b}" * 2000,
}


def _pattern(name: str, pattern: str) -> Case:
    attack = {"pattern": pattern, "path": "src", "output_mode": "content"}
    return tool(AREA, name, "reader", "search.grep", attack, GOOD, shows=NEIGHBOUR, codes=None)


def _include(name: str, include: str) -> Case:
    attack = {**GOOD, "pattern": ".", "include": include}
    good = {**GOOD, "include": "*.txt"}
    return tool(AREA, name, "reader", "search.grep", attack, good, shows=NEIGHBOUR, codes=None)


def _no_text_from_outside(name: str, agent: str, tool_name: str, **params: Any) -> Case:
    """A search that matches what the agent may not read: no text of it is shown."""

    def attack(scene: Scene) -> None:
        for mode in ("content", "files_with_matches", "count"):
            envelope = scene.call(agent, tool_name, {**params, "output_mode": mode, "context": 3})
            worked(envelope)
            assert ".kaged" not in str(envelope["data"])
            assert "hidden.txt" not in str(envelope["data"])
            for match in envelope["data"]["matches"]:
                assert match.get("outside_cage") is True, match
                assert agent != "blind", match

    def control(scene: Scene) -> None:
        worked(scene.call(agent, tool_name, {**GOOD, "path": "."}), NEIGHBOUR)

    return Case(AREA, name, attack, control)


def _oracle_of_denied() -> Case:
    """Asking about a denied file answers the same whether the expression matches or not."""

    def attack(scene: Scene) -> None:
        answers = [
            {**scene.call("reader", "search.grep", {"pattern": pattern, "path": path}), "metadata": None}
            for pattern in ("canary", "nothing like it")
            for path in ("src/private", "src/private/hidden.txt")
        ]
        assert len({str(answer["code"]) for answer in answers}) == 1, answers
        assert "hidden" not in str([answer["data"] for answer in answers])

    def control(scene: Scene) -> None:
        worked(scene.call("reader", "search.grep", {"pattern": "neighbour", "path": "src/sub"}), "b.txt")

    return Case(AREA, "denied-is-no-oracle", attack, control)


def _settings_in_the_project(name: str, file: str, content: str, tool_name: str, params: Any) -> Case:
    """Settings of a search engine that lie in the project must not steer it."""

    def attack(scene: Scene) -> None:
        planted = scene.place.project / "src" / file
        planted.parent.mkdir(exist_ok=True)
        planted.write_text(
            content.replace("<outside>", str(scene.place.outside)).replace("<project>", str(planted.parent))
        )
        try:
            for agent in ("reader", "writer", *(["primary"] if params["pattern"] != "canary" else [])):
                scene.call(agent, tool_name, params)
        finally:
            planted.unlink()

    def control(scene: Scene) -> None:
        name = unique("found")
        made = scene.place.project / "src" / f"{name}.py"
        made.write_text(f'print("{name}")\n')
        worked(scene.call("reader", "search.grep", {"pattern": name, "path": "src"}), name)
        made.unlink()

    return Case(AREA, name, attack, control)


EVERYTHING = {"pattern": "canary[0-9a-f]{20}", "path": "."}

CASES: tuple[Case, ...] = (
    *(_pattern(name, pattern) for name, pattern in PATTERNS.items()),
    *(_include(name, include) for name, include in INCLUDES.items()),
    _no_text_from_outside("text-of-what-is-not-granted", "reader", "search.grep", **EVERYTHING),
    _no_text_from_outside("outside-not-even-mentioned", "blind", "search.grep", **EVERYTHING),
    _oracle_of_denied(),
    tool(
        AREA,
        "structure-of-what-is-not-granted",
        "reader",
        "search.ast",
        {"pattern": "SECRET = $X", "lang": "python", "paths": ["src", "../outside"]},
        {"pattern": "return $X", "lang": "python", "paths": ["src"]},
        shows="GREETING",
    ),
    tool(
        AREA,
        "rewrite-what-is-outside",
        "writer",
        "edit.ast",
        {
            "rewrites": {"SECRET = $X": "SECRET = 1"},
            "lang": "python",
            "path": "src/to_outside",
            "dry_run": False,
        },
        {"rewrites": {"return $X": "return ($X)"}, "lang": "python", "path": "src", "dry_run": True},
    ),
    _settings_in_the_project(
        "ripgrep-settings",
        ".ripgreprc",
        "--pre=<outside>/program.sh\n--follow\n",
        "search.grep",
        {"pattern": "outside", "path": "src", "output_mode": "content"},
    ),
    _settings_in_the_project(
        "ast-grep-loads-a-library",
        "sgconfig.yml",
        "ruleDirs: [rules]\ncustomLanguages:\n  evil:\n"
        "    libraryPath: <outside>/evil.so\n    extensions: [py]\n",
        "search.ast",
        {"pattern": "print($X)", "lang": "python", "paths": ["src"]},
    ),
    _settings_in_the_project(
        "ignore-file-outside",
        ".gitignore",
        "!/../../outside\n!../outside/**\n",
        "search.grep",
        {"pattern": "canary", "path": "src", "output_mode": "content"},
    ),
)
