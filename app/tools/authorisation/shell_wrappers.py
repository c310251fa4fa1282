"""Commands that run other commands: `sudo`, `xargs`, `sh -c` and similar.

Owns: a table of them with the options that lead to the inner command. Never: trusting unknown options: the
inner command is unknown then.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from app.tools.authorisation.shell_git import run_by_git
from app.tools.authorisation.shell_inner import Commands, Inner, Shell, Text, Unknown, script_of
from app.tools.authorisation.shell_programs import run_by_program
from app.tools.authorisation.shell_script import Part, Word, certain

SHELLS = frozenset(
    {
        "sh",
        "bash",
        "dash",
        "zsh",
        "ksh",
        "mksh",
        "ash",
        "rbash",
        "fish",
        "csh",
        "tcsh",
        "yash",
        "posh",
        "oksh",
    }
    | {"loksh", "pdksh", "ksh93", "rksh"}
)
_INPUT = frozenset({"/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"})


@dataclass(frozen=True, slots=True)
class _Wrapper:
    """`flags` are single letters without and `valued` with a value, `long_valued` long options
    whose value is the next word, `operands` the words before the command, `takes_more` that further
    arguments come from elsewhere."""

    flags: str = ""
    valued: str = ""
    long_valued: frozenset[str] = frozenset()
    operands: int = 0
    assignments: bool = False
    takes_more: bool = False
    script_option: str = ""


_WRAPPERS: dict[str, _Wrapper] = {
    "command": _Wrapper("p"),
    "builtin": _Wrapper(),
    "exec": _Wrapper("cl", "a"),
    "coproc": _Wrapper(),
    "nohup": _Wrapper(),
    "setsid": _Wrapper("cfw"),
    "time": _Wrapper("palqv", "of", frozenset({"--output", "--format"})),
    "nice": _Wrapper("0123456789", "n", frozenset({"--adjustment"})),
    "ionice": _Wrapper("t", "cnpPu", frozenset({"--class", "--classdata"})),
    "chrt": _Wrapper("abdfiorRv", "pTPD", operands=1),
    "taskset": _Wrapper("ac", "p", operands=1),
    "timeout": _Wrapper("fpv", "ks", frozenset({"--kill-after", "--signal"}), operands=1),
    "stdbuf": _Wrapper("", "ioe", frozenset({"--input", "--output", "--error"})),
    "env": _Wrapper("i0v", "uC", frozenset({"--unset", "--chdir"}), assignments=True, script_option="S"),
    "sudo": _Wrapper(
        "AbEeHknPSiBNs", "ugpCrthTUDR",
        frozenset({"--user", "--group", "--prompt", "--close-from", "--role", "--type", "--host"}
                  | {"--command-timeout", "--other-user", "--chdir", "--chroot"}),
        assignments=True,
    ),
    "doas": _Wrapper("Lns", "uC"),
    "xargs": _Wrapper(
        "0rtpxo", "adEILnPs",
        frozenset({"--arg-file", "--delimiter", "--max-lines", "--max-args", "--max-procs", "--max-chars"}),
        takes_more=True,
    ),
    "parallel": _Wrapper("kmXu0", "jaIndN", frozenset({"--jobs", "--arg-file"}), takes_more=True),
    "chroot": _Wrapper("", "", operands=1),
    "flock": _Wrapper("sxeunFov", "wE", frozenset({"--timeout", "--wait"}), operands=1, script_option="c"),
    "strace": _Wrapper("fqvtTyrcCdDkiZz", "oepsuEaSbIPOX"),
    "ltrace": _Wrapper("fcCSirtTLb", "oepsualnxAwDF"),
    "su": _Wrapper("lmpfP", "gGsw", operands=1, script_option="c"),
    "runuser": _Wrapper("lmpfP", "gGsuw", operands=1, script_option="c"),
    "script": _Wrapper("aefq", "oOIBTEm", operands=1, script_option="c"),
    "busybox": _Wrapper(),
    "toybox": _Wrapper(),
    "unshare": _Wrapper("fimnprucCUT", "RwSG"),
    "nsenter": _Wrapper("amuinpCUTrwFZe", "tSG"),
}  # fmt: skip
_FIND_EXEC = frozenset({"-exec", "-execdir", "-ok", "-okdir"})


def inner_of(part: Part) -> Inner:
    """Return what a part would run besides itself, None when that is nothing."""
    name = part.name
    if name in SHELLS:
        return _shell(part.words[1:])
    if name == "eval" or name == "watch":
        words = part.words[1:]
        if name == "watch":
            words = _behind_options(words, _Wrapper("bdegtcxpwqr", "n", frozenset({"--interval"}))) or ()
        return script_of(words) if words else None
    if name == "trap":
        words = part.words[2:] if part.arguments[:1] == ("--",) else part.words[1:]
        return script_of(words[:1]) if len(words) > 1 else None
    if name in {"source", "."}:
        return _sourced(part.words[1:2])
    if name == "sg":
        words = tuple(word for word in part.words[2:] if word.text != "-c")
        return script_of(words[:1]) if words else None
    if name == "alias":
        bodies = [word.text.partition("=")[2] for word in part.words[1:] if "=" in word.text]
        return Text("\n".join(bodies)) if bodies else None
    if name == "find":
        return _find(part.words)
    if name == "git":
        return run_by_git(part.words[1:])
    wrapper = _WRAPPERS.get(name)
    return run_by_program(part) if wrapper is None else _wrapped(part, wrapper)


def _shell(words: tuple[Word, ...]) -> Inner:
    takes_text = reads_input = False
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if not word.is_certain:
            if takes_text:
                return Text(word.text, whole=False)
            return None if word.text.strip("/.").isidentifier() else Unknown()
        if word.text in {"--rcfile", "--init-file"}:
            rest = rest[1:]
        elif word.text.startswith("--") and len(word.text) > 2:
            continue
        elif word.text[:1] in {"-", "+"} and len(word.text) > 1 and word.text != "--":
            takes_text = takes_text or (word.text[0] == "-" and "c" in word.text)
            reads_input = reads_input or (word.text[0] == "-" and "s" in word.text)
            rest = rest[1:] if word.text[-1] in "oO" else rest
        elif word.text in {"--", "-"}:
            continue
        else:
            if takes_text:
                return Text(word.text)
            return Shell() if reads_input or word.text in _INPUT else None
    return Unknown() if takes_text else Shell()


def _sourced(operand: tuple[Word, ...]) -> Inner:
    """What `source` is given on the spot; a file that lies there already is the sandbox's."""
    if operand and operand[0].text.startswith("<("):
        return Unknown()
    return Shell() if operand and operand[0].text in _INPUT else None


def _find(words: tuple[Word, ...]) -> Inner:
    commands: list[tuple[Word, ...]] = []
    current: list[Word] | None = None
    for word in words[1:]:
        if current is None:
            current = [] if word.text in _FIND_EXEC else None
        elif word.text in {";", "+"}:
            commands.append(tuple(current))
            current = None
        else:
            current.append(_filled(word, frozenset({"{}"})))
    if current:
        commands.append(tuple(current))
    return Commands(tuple(one for one in commands if one)) if commands else None


def _wrapped(part: Part, wrapper: _Wrapper) -> Inner:
    words = part.words[1:]
    if part.name == "command" and words and words[0].text[:2] in {"-v", "-V"}:
        return None
    if part.name == "strace" and any(word.text.lstrip("-o")[:1] in {"|", "!"} for word in words):
        return Unknown()
    script = _script_option(words, wrapper)
    if script is not None:
        return script
    rest = _behind_options(words, wrapper)
    if rest is None:
        return Unknown()
    as_user = part.name == "runuser" and any(word.text.startswith(("-u", "--user")) for word in words)
    rest = rest if as_user else rest[wrapper.operands :]
    assignments: list[str] = []
    while wrapper.assignments and rest and ("=" in rest[0].text or rest[0].text == "-"):
        assignments += [rest[0].text] if "=" in rest[0].text else []
        rest = rest[1:]
    if not rest or (part.name in {"su", "runuser", "script"} and not as_user):
        return None
    if wrapper.takes_more:
        places = _places(words)
        rest = (*(_filled(word, places) for word in rest), Word("{}", 0))
    return Commands((rest,), tuple(assignments))


def _places(words: tuple[Word, ...]) -> frozenset[str]:
    """The texts that `xargs -I` and `parallel` replace in the words of their command."""
    found = {"{}"}
    for index, word in enumerate(words):
        if word.text == "-I":
            found.update(one.text for one in words[index + 1 : index + 2])
        elif word.text.startswith(("-I", "--replace=")):
            found.add(word.text.removeprefix("--replace=").removeprefix("-I"))
    return frozenset(found)


def _filled(word: Word, places: frozenset[str]) -> Word:
    at = min((found for place in places if (found := word.text.find(place)) >= 0), default=word.known)
    return Word(word.text, min(at, word.known))


def _script_option(words: tuple[Word, ...], wrapper: _Wrapper) -> Inner:
    """The script of `su -c`, `env -S` and the like; None when that option is not there."""
    if not wrapper.script_option:
        return None
    short = f"-{wrapper.script_option}"
    for index, word in enumerate(words):
        if word.text in {short, "--command"} and wrapper.script_option != "S":
            return script_of(words[index + 1 : index + 2])
        if word.text in {short, "--split-string"}:
            return _split(words[index + 1 :])
        if word.text.startswith(("--command=", "--split-string=")):
            return Text(word.text.partition("=")[2]) if word.is_certain else Unknown()
        if word.text.startswith(short) or (word.text[:1] == "-" and word.text[-1] == wrapper.script_option):
            return Unknown()
    return None


def _split(words: tuple[Word, ...]) -> Inner:
    """The command of `env -S`: the pieces of one word, and the words behind it."""
    if not words or not words[0].is_certain or re.search(r"[\\$'\"]", words[0].text):
        return Unknown()
    return Commands(((*(certain(one) for one in words[0].text.split()), *words[1:]),))


def _behind_options(words: tuple[Word, ...], wrapper: _Wrapper) -> tuple[Word, ...] | None:
    """The words behind a wrapper's own options; None when an option is not known."""
    rest = list(words)
    while rest:
        word = rest[0].text
        if not rest[0].is_certain:
            return tuple(rest)
        if word == "--":
            return tuple(rest[1:])
        if len(word) < 2 or word[0] != "-":
            return tuple(rest)
        rest.pop(0)
        if word.startswith("--"):
            if word in wrapper.long_valued:
                rest = rest[1:]
            continue
        consumed = _value_follows(word[1:], wrapper)
        if consumed is None:
            return None
        rest = rest[consumed:]
    return ()


def _value_follows(letters: str, wrapper: _Wrapper) -> int | None:
    """How many words a cluster of short options takes along: 0 or 1; None for an unknown one."""
    for index, letter in enumerate(letters):
        if letter in wrapper.valued:
            return 0 if index + 1 < len(letters) else 1
        if letter not in wrapper.flags:
            return None
    return 0
