"""Commands that are known to only read: `git log`, `ls`, `grep`.

Owns: the allow-list, judged by the words of a part. Never: what else a command line would run: each of its
parts and redirections is judged by itself.
Keeps S4 of docs/security.md.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from app.tools.authorisation.shell_script import Part, Word

_ANY_WORDS = frozenset(
    {"basename", "cat", "cd", "cksum", "cmp", "column", "comm", "cut", "df", "diff", "dirname", "du"}
    | {"echo", "egrep", "expand", "false", "fgrep", "fold", "grep", "head", "hexdump", "id", "jq", "join"}
    | {"ls", "md5sum", "nl", "nproc", "od", "paste", "ps", "pwd", "readlink", "realpath", "rev"}
    | {"seq", "sha1sum", "sha256sum", "sha512sum", "stat", "strings", "tac", "tail", "tr", "true"}
    | {"type", "uname", "wc", "which", "whoami"}
)  # fmt: skip
"""None of their options writes a file or runs a program."""
_HAVE_VERSIONS = frozenset(
    {"bun", "deno", "gcc", "git", "java", "make", "node", "npm", "pip", "python", "python3", "ruby", "uv"}
)
"""Not those that a file of the project has run or fetch another release of themselves: `yarn` (`yarnPath`),
`pnpm` (`packageManager`), `cargo` (`rust-toolchain.toml`), `go` (`toolchain`)."""
_VERSION = frozenset({"--version", "-V"})
_NUMBERED_LINES = re.compile(r"(?:[0-9]{1,9}|\$)(?:,(?:[0-9]{1,9}|\$))?p")
"""A script of `sed -n` that prints lines by their numbers."""
_FIND_ACTS = frozenset(
    {"-delete", "-exec", "-execdir", "-ok", "-okdir", "-fprint", "-fprint0", "-fprintf", "-fls"}
)


def only_reads(part: Part) -> bool:
    """Tell whether a simple command is known to write no file and to run no other program."""
    if part.unreadable or part.assignments or part.inside is not None or not part.words:
        return False
    name, words = part.words[0], part.words[1:]
    if not name.is_certain:
        return False
    if name.text in _ANY_WORDS:
        return True
    texts = [word.text for word in words]
    if not all(map(_stays, words)):
        return False
    if name.text in _HAVE_VERSIONS and len(texts) == 1 and texts[0] in _VERSION:
        return True
    judge = _BY_PROGRAM.get(name.text)
    return judge is not None and judge(texts)


def _stays(word: Word) -> bool:
    """Tell whether a word cannot become an option: it is certain, or a glob that begins with a name."""
    begins = word.text[: word.known]
    return word.is_certain or (begins != "" and not begins.startswith("-") and "$" not in word.text)


def _has(texts: list[str], *options: str, letters: str = "") -> bool:
    """Tell whether one of `options` (long ones also shortened), or a letter of a bundle, is among words."""
    for text in texts:
        name = text.partition("=")[0]
        if text.startswith("--"):
            if len(name) > 2 and any(option.startswith(name) for option in options):
                return True
        elif text.startswith("-") and any(letter in text for letter in letters):
            return True
    return False


def _tests(texts: list[str]) -> bool:
    return not any(text.startswith("-v") for text in texts)  # bash evaluates the index of a variable's name


def _sort(texts: list[str]) -> bool:
    return not _has(texts, "--output", "--compress-program", "--temporary-directory", letters="oT")


def _uniq(texts: list[str]) -> bool:
    return sum(not text.startswith("-") or text == "-" for text in texts) <= 1


def _find(texts: list[str]) -> bool:
    return _FIND_ACTS.isdisjoint(texts)


def _rg(texts: list[str]) -> bool:
    return not any(text.startswith(("--pre", "--hostname-bin")) for text in texts)


def _tree(texts: list[str]) -> bool:
    return not _has(texts, "--output", letters="oR")


def _file(texts: list[str]) -> bool:
    return not _has(texts, "--compile", letters="C")


def _date(texts: list[str]) -> bool:
    return all(text.startswith("+") or text in {"-u", "-I", "-R", "--utc"} for text in texts)


def _sed(texts: list[str]) -> bool:
    plain = len(texts) >= 2 and texts[0] == "-n" and _NUMBERED_LINES.fullmatch(texts[1]) is not None
    return plain and not any(text.startswith("-") for text in texts[2:])


_GIT_READS = frozenset(
    {"blame", "cat-file", "check-ignore", "cherry", "count-objects", "describe", "diff", "diff-tree"}
    | {"for-each-ref", "grep", "log", "ls-files", "ls-tree", "merge-base", "name-rev", "rev-list"}
    | {"rev-parse", "shortlog", "show", "show-ref", "status", "whatchanged"}
)
_GIT_RUNS = (
    "--output",
    "--ext-diff",
    "--textconv",
    "--filters",
    "--open-files-in-pager",
    "--help",
    "--paginate",
)
"""Options of these verbs that write a file or run a program."""
_BRANCH = frozenset({"-a", "-r", "-v", "-vv", "--all", "--remotes", "--list", "--show-current", "--verbose"})
_GIT_LISTS: Mapping[str, Callable[[list[str]], bool]] = {
    "branch": lambda rest: all(one in _BRANCH for one in rest),
    "tag": lambda rest: not rest or (rest[0] in {"-l", "--list"} and not _options(rest[1:])),
    "remote": lambda rest: rest in ([], ["-v"], ["--verbose"]) or (len(rest) == 2 and rest[0] == "get-url"),
    "stash": lambda rest: rest == ["list"] or (rest[:1] == ["show"] and not _has(rest, *_GIT_RUNS)),
    "worktree": lambda rest: rest in (["list"], ["list", "--porcelain"]),
    "reflog": lambda rest: not rest or (rest[0] == "show" and not _has(rest, *_GIT_RUNS)),
    "config": lambda rest: rest in (["--list"], ["-l"]) or (len(rest) == 2 and rest[0] == "--get"),
}


def _options(texts: list[str]) -> bool:
    return any(text.startswith("-") for text in texts)


def _git(texts: list[str]) -> bool:
    rest = list(texts)
    while rest and rest[0] in {"--no-pager", "-P", "-C"}:
        rest = rest[2:] if rest[0] == "-C" else rest[1:]
    if not rest:
        return False
    verb, words = rest[0], rest[1:]
    if verb in _GIT_READS:
        letters = "O" if verb == "grep" else ""
        return not _has(words, *_GIT_RUNS, letters=letters)
    lists = _GIT_LISTS.get(verb)
    return lists is not None and lists(words)


_BY_PROGRAM: Mapping[str, Callable[[list[str]], bool]] = {
    "[": _tests,
    "date": _date,
    "file": _file,
    "find": _find,
    "git": _git,
    "rg": _rg,
    "sed": _sed,
    "sort": _sort,
    "test": _tests,
    "tree": _tree,
    "uniq": _uniq,
}
