"""What the arguments of a program would run if the program is one that runs its arguments.

Owns: the programs that are known not to, and the commands in the arguments, the variables and the input of
all others. A guess neither allows nor denies by itself: where a stricter rule covers it, a person decides.
Never: what is certain to run (`shell_wrappers`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain, islice, product

from app.tools.authorisation.shell_inner import Commands, Text
from app.tools.authorisation.shell_script import Part, Word, certain
from app.tools.authorisation.shell_wrappers import inner_of

MAX_GUESSES = 2_000
MAX_WORDS = 16
"""Words of a guess: rules that tell more words apart than these are asked about."""
WITH_VERBS = frozenset(
    {"git", "npm", "pnpm", "yarn", "bun", "deno", "cargo", "go", "uv", "poetry", "pdm", "pip", "docker"}
    | {"kubectl", "gh", "glab", "systemctl", "apt", "apt-get", "brew", "make", "just", "task", "helm"}
    | {"terraform", "dotnet", "mvn", "gradle", "rustup", "conda"}
)
"""Programs whose first word is a verb of their own: `npm rm x` runs no `rm`."""
_RUN_NO_WORDS = frozenset(
    {"[", "awk", "basename", "cat", "cd", "chgrp", "chmod", "chown", "cmp", "comm", "cp", "curl", "cut"}
    | {"date", "df", "diff", "dirname", "du", "echo", "egrep", "exit", "false", "fgrep", "file", "find"}
    | {"fold", "gawk", "git", "grep", "gunzip", "gzip", "head", "install", "jq", "kill", "less", "ln"}
    | {"local", "ls", "man", "mawk", "md5sum", "mkdir", "mktemp", "more", "mv", "nl", "od", "paste"}
    | {"pkill", "popd", "printf", "ps", "pushd", "pwd", "read", "readlink", "readonly", "realpath"}
    | {"return", "rev", "rg", "rm", "rmdir", "sed", "seq", "sha1sum", "sha256sum", "shift", "sleep"}
    | {"sort", "split", "stat", "strings", "tac", "tail", "tar", "tee", "test", "touch", "tr", "tree"}
    | {"true", "truncate", "type", "umask", "uniq", "unlink", "unset", "unzip", "wait", "wc", "wget"}
    | {"whereis", "which", "xxd", "xz", "zcat", "zgrep", "zip"}
)  # fmt: skip
"""Programs that run none of their words, or only those that `shell_wrappers` finds."""
_NAMED = re.compile(r"^-{0,2}[A-Za-z_][\w-]*=")
"""The name that an option or a variable gives its value."""
_BETWEEN = (re.compile(r"[\s\"'`;|&(){}<>,$]+"), re.compile(r"[\s\"'`;|&(){}<>,=:!$\[\]+%\\]+"))
"""What parts a text of some language into words: `of=/dev/sda` is one word, `EXEC:rm` two."""


def guesses_of(part: Part) -> tuple[Part, ...]:
    """Return the commands that a part may run besides those that are certain, each once; a last one that is
    not readable where there are too many."""
    texts = list(part.assignments)
    words: tuple[Word, ...] = ()
    if not part.unreadable and _may_run_words(part):
        words = part.words[2:] if _begins_with_verb(part) else part.words[1:]
        texts += [*(word.text for word in words), *part.heard]
    starts = list(islice(chain(_suffixes(words), _pieces(texts)), MAX_GUESSES + 1))
    found = list(dict.fromkeys(starts[:MAX_GUESSES]))
    if len(starts) > MAX_GUESSES:
        found.append((Word(part.text, 0),))
    return tuple(Part(one, inside=part.name or None) for one in found)


def _begins_with_verb(part: Part) -> bool:
    return part.name in WITH_VERBS and part.arguments[:1] != () and part.arguments[0].isalpha()


def _may_run_words(part: Part) -> bool:
    return part.name not in _RUN_NO_WORDS and not isinstance(inner_of(part), Commands | Text)


def _suffixes(words: tuple[Word, ...]) -> Iterator[tuple[Word, ...]]:
    """Each certain word may begin a command."""
    for index, word in enumerate(words):
        if word.is_certain and word.text and not word.text.startswith("-"):
            yield _cut(words[index : index + MAX_WORDS + 1])


def _pieces(texts: Iterable[str]) -> Iterator[tuple[Word, ...]]:
    """Each piece between quotes, blanks and operators may begin a command."""
    for text, between in product(texts, _BETWEEN):
        pieces = [certain(one) for one in between.split(_NAMED.sub("", text, count=1)) if one]
        for index, piece in enumerate(pieces):
            if not piece.text.startswith("-"):
                yield _cut(tuple(pieces[index : index + MAX_WORDS + 1]))


def _cut(words: tuple[Word, ...]) -> tuple[Word, ...]:
    return words if len(words) <= MAX_WORDS else (*words[:MAX_WORDS], Word("...", 0))
