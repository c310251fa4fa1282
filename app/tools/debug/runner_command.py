"""A command line of a test runner of Node as people write it: `node --test`, `npx vitest run`, `jest a.js`.

Owns: which runner it is, and what is left of the line when the debugger starts that itself. Never: looking
at files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.tools.debug.project_test import SCRIPTS, Runner
from app.tools.debug.wrong_parameter import wrong

PROGRAMS: Mapping[str, str] = {"vitest": "vitest/vitest.mjs", "jest": "jest/bin/jest.js"}
"""The program of each runner that a project installs, in its node_modules."""
NODE = frozenset({"node", "nodejs"})
NODE_VALUES = frozenset(
    {
        *("-r", "--require", "--import", "--loader", "--experimental-loader", "-C", "--conditions"),
        *("--env-file", "--env-file-if-exists", "--input-type", "--stack-trace-limit", "--watch-path"),
        *("--test-name-pattern", "--test-skip-pattern", "--test-concurrency", "--test-timeout"),
        *("--test-reporter", "--test-reporter-destination", "--test-shard", "--test-isolation"),
        *("--test-coverage-include", "--test-coverage-exclude", "--test-global-setup"),
    }
)
"""Options of Node whose value may be the next word."""
_STARTERS = (
    *(("npm", "exec"), ("pnpm", "exec"), ("yarn", "exec"), ("yarn", "run")),
    *(("npx",), ("pnpm",), ("yarn",)),
)
_OF_STARTERS = frozenset({"--", "--no-install", "--no", "-y", "--yes"})
_REPORTERS = ("--test-reporter", "--test-reporter-destination")
_OF_RUNNER = ("--test-", "--experimental-test-", "--watch")
_OF_TESTS = frozenset({"--test-name-pattern", "--test-skip-pattern", "--test-only"})
"""The options of these that mean the same where a file of tests is run by itself."""
_WORKERS = {"jest": ("-i", "--runInBand", "-w", "--maxWorkers"), "vitest": ("--no-file-parallelism",)}


@dataclass(frozen=True, slots=True)
class RunnerCommand:
    """`script` is what Node runs, as the caller wrote it: a file of tests, or the runner's program. None: the
    runner's program wherever the project has it."""

    runner: Runner
    script: str | None = None
    args: tuple[str, ...] = ()
    options: tuple[str, ...] = ()


def read_runner(words: Sequence[str]) -> RunnerCommand | None:
    """Take a command apart; None where it starts none of these runners in a form that is known here. Raises
    ToolError `invalid_params` for a `node --test` that cannot be debugged."""
    first, rest = words[0], words[1:]
    if first.rpartition("/")[2] in NODE:
        options, others = options_of(rest)
        if "--test" in options:
            return _of_node(options, others)
        known = _installed(others[0]) if others else None
        if known is not None:
            return RunnerCommand(known, others[0], _alone(known, others[1:]), tuple(options))
        return None
    own = _after_starter(words)
    for runner in ("vitest", "jest"):
        if own[:1] == [runner]:
            return RunnerCommand(runner, args=_alone(runner, own[1:]))
        folder, found, name = first.rpartition("/.bin/")
        if found and name == runner and folder.endswith("node_modules"):
            return RunnerCommand(runner, f"{folder}/{PROGRAMS[runner]}", _alone(runner, rest))
    return None


def options_of(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the options of Node with their values, and what follows them."""
    at = 0
    while at < len(words) and words[at].startswith("-"):
        if words[at] == "--":
            return list(words[:at]), list(words[at + 1 :])
        at += 2 if words[at] in NODE_VALUES else 1
    return list(words[:at]), list(words[at:])


def _of_node(options: Sequence[str], others: Sequence[str]) -> RunnerCommand:
    """One file of tests is run by Node itself: what `--test` starts has no inspector, and its files are
    further processes. The answer has what the usual reporter writes."""
    kept: list[str] = []
    words = iter(options)
    for word in words:
        name, given, _ = word.partition("=")
        value = [next(words, "")] if not given and word in NODE_VALUES else []
        if name not in _REPORTERS and word != "--test":
            kept += [word, *value]
    for name in (one.partition("=")[0] for one in kept):
        if name.startswith(_OF_RUNNER) and name not in _OF_TESTS:
            raise wrong("command", f"has {name}, which works with several processes only: leave it out")
    if len(others) != 1 or not others[0].endswith(SCRIPTS) or set("*?[{").intersection(others[0]):
        raise wrong(
            "command",
            "names several files, a folder, a pattern or nothing: node --test is debugged "
            "with one test file, for instance `node --test a.test.js`",
        )
    return RunnerCommand("node", others[0], options=tuple(kept))


def _installed(path: str) -> Runner | None:
    for runner in ("vitest", "jest"):
        if path.endswith((f"node_modules/{PROGRAMS[runner]}", f"node_modules/.bin/{runner}")):
            return runner
    return None


def _after_starter(words: Sequence[str]) -> list[str]:
    """Return the words after a package manager and its own options."""
    for starter in _STARTERS:
        if tuple(words[: len(starter)]) == starter:
            rest = list(words[len(starter) :])
            while rest and rest[0] in _OF_STARTERS:
                del rest[0]
            return rest
    return list(words)


def _alone(runner: str, args: Sequence[str]) -> tuple[str, ...]:
    """Return the arguments with those by which the tests run one after the other, and once."""
    more: list[str] = []
    if runner == "vitest" and args[:1] != ["run"] and "--run" not in args:
        more.append("--run")
    if not any(one.partition("=")[0] in _WORKERS[runner] for one in args):
        more.append("--runInBand" if runner == "jest" else "--no-file-parallelism")
    return (*args, *more)
