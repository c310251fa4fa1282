"""Programs that run other programs because of an option, an operand or their own language.

Owns: the tables of such options. Never: wrappers (`shell_wrappers`), git (`shell_git`), script files and
configuration (the sandbox), unknown programs (`shell_guesses`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from app.tools.authorisation.shell_inner import Commands, Inner, Text, Unknown
from app.tools.authorisation.shell_script import Part, Word

MAX_SUFFIXES = 24
_LOOSE = frozenset({
    "aa-exec", "bwrap", "caffeinate", "catatonit", "catchsegv", "cgexec", "choom", "chpst", "chronic",
    "cpulimit", "daemon", "daemonize", "datefudge", "dbus-launch", "dbus-run-session", "dumb-init",
    "eatmydata", "envuidgid", "fakechroot", "fakeroot", "fakeroot-sysv", "fakeroot-tcp", "faketime",
    "firejail", "gosu", "gpg-agent", "heaptrack", "i386", "linux32", "linux64", "logsave", "machinectl",
    "nocache", "numactl", "openvt", "perf", "pkexec", "prlimit", "proot", "proxychains", "proxychains4",
    "rlwrap", "rr", "run0", "runcon", "s6-setuidgid", "s6-softlimit", "schroot", "setarch", "setpriv",
    "setuidgid", "softlimit", "ssh-agent", "start-stop-daemon", "su-exec", "systemd-inhibit",
    "systemd-run", "tini", "torify", "torsocks", "trickle", "tsocks", "uclampset", "uftrace", "uname26",
    "unbuffer", "valgrind", "x86_64", "xvfb-run",
})  # fmt: skip
"""Their options are too many to know: each word may begin the command that they run."""
_LOADER = re.compile(r"ld(?:-linux|-musl|64|\.so|-uClibc)\S*")


@dataclass(frozen=True, slots=True)
class _Options:
    """`short` are options of one letter whose value, attached or next, is run; `exact` those with one dash
    and more letters; `long` those with two, which may be shortened where `shortens`. Where `runs_text` the
    value is a command line; else a program that is run with more arguments."""

    short: str = ""
    exact: tuple[str, ...] = ()
    long: tuple[str, ...] = ()
    runs_text: bool = True
    shortens: bool = True


_EDITOR = _Options("cSsu", (), ("--cmd", "--startuptime"), runs_text=False)
_COMPILER = _Options("B", ("-wrapper", "-fplugin", "-specs"), ("--specs", "--plugin"), runs_text=False)
_SSH = _Options("FI", (), (), runs_text=False)
_BY_OPTION: Mapping[str, _Options] = {
    "rg": _Options(long=("--pre", "--hostname-bin"), runs_text=False, shortens=False),
    "tar": _Options(
        "IF", (),
        ("--checkpoint-action", "--to-command", "--use-compress-program", "--info-script", "--rsh-command",
         "--new-volume-script", "--rmt-command"),
        runs_text=False,
    ),
    "bsdtar": _Options(long=("--use-compress-program",), runs_text=False),
    "cpio": _Options(long=("--rsh-command", "--to-command"), runs_text=False),
    "ssh": _SSH, "sftp": _Options("FSD", runs_text=False), "scp": _Options("FSD", runs_text=False),
    "rsync": _Options("e", (), ("--rsh", "--rsync-path")),
    "zip": _Options("", ("-TT",), ("--unzip-command",)),
    "man": _Options("PH", (), ("--pager", "--html", "--preprocessor"), runs_text=True),
    "sort": _Options(long=("--compress-program",), runs_text=False),
    "split": _Options(long=("--filter",)),
    "install": _Options(long=("--strip-program",), runs_text=False),
    "tcpdump": _Options("z", runs_text=False),
    "gdb": _Options("x", ("-ex", "-eval-command", "-command", "-ix", "-iex", "-init-command"),
                    ("--ex", "--eval-command", "--command", "--init-eval-command"), runs_text=False),
    "lldb": _Options("osOSkK", (), ("--one-line", "--source", "--one-line-before-file"), runs_text=False),
    **dict.fromkeys(("vim", "vi", "nvim", "view", "vimdiff", "ex", "rvim", "gvim", "nvi", "elvis"), _EDITOR),
    "emacs": _Options("lf", ("-eval", "-script", "-load"),
                      ("--eval", "--script", "--load", "--funcall", "--execute"), runs_text=False),
    **dict.fromkeys(("gcc", "g++", "cc", "c++", "clang", "clang++"), _COMPILER),
    "ld": _Options("", ("-plugin",), ("--plugin",), runs_text=False),
    "nc": _Options("ec", (), ("--exec", "--sh-exec", "--lua-exec")),
    "ncat": _Options("ec", (), ("--exec", "--sh-exec", "--lua-exec")),
    "netcat": _Options("ec", (), ("--exec", "--sh-exec")),
    "go": _Options("", ("-toolexec", "-exec", "-vettool"), ("--toolexec", "--exec", "--vettool")),
    "npm": _Options(long=("--script-shell",), runs_text=False),
    "aria2c": _Options(long=("--on-download-complete", "--on-download-start", "--on-bt-download-complete"),
                       runs_text=False),
    "make": _Options("E", (), ("--eval",), runs_text=False),
    "wget": _Options(long=("--use-askpass",), runs_text=False),
    "fd": _Options("xX", (), ("--exec", "--exec-batch"), runs_text=False),
    "expect": _Options("cfb", runs_text=False),
    "ctags": _Options(long=("--options",), runs_text=False),
    "cargo": _Options(long=("--config",), runs_text=False, shortens=False),
    "openssl": _Options("", ("-engine", "-provider", "-provider-path"), runs_text=False),
    "ssh-keygen": _Options("Dw", runs_text=False),
    "ssh-add": _Options("sSe", runs_text=False),
    "mapfile": _Options("C", runs_text=False), "readarray": _Options("C", runs_text=False),
    "complete": _Options("CF"), "compgen": _Options("CF"), "bind": _Options("xf", runs_text=False),
    "enable": _Options("f", runs_text=False), "hash": _Options("p", runs_text=False),
    "hyperfine": _Options("psS", (), ("--prepare", "--setup", "--cleanup", "--shell")),
}  # fmt: skip
_SAME_AS = {
    "gmake": "make", "bmake": "make", "fdfind": "fd", "gtar": "tar", "gsed": "sed", "gsort": "sort",
    **dict.fromkeys(("gawk", "mawk", "nawk", "original-awk"), "awk"),
}  # fmt: skip
_ALWAYS_UNKNOWN = frozenset(
    {"ed", "red", "at", "batch", "run-parts", "tmux", "screen", "entr", "dtach", "abduco"}
)
"""What they run comes from their input, or from a file, or happens elsewhere."""
_EVALUATE = frozenset(
    {
        "[",
        "declare",
        "export",
        "getopts",
        "let",
        "local",
        "mapfile",
        "printf",
        "read",
        "readarray",
        "readonly",
    }
    | {"test", "typeset", "unset", "wait"}
)
_SUBSTITUTION = re.compile(r"`|\$[({]")
_CALLS = (
    r"\b(?:system|exec[lv]?[pe]*|popen\w*|spawn\w*|qx|fork|execute|shell_exec|passthru|proc_open"
    r"|child_process)\b|`"
)
_BY_TEXT: Mapping[str, re.Pattern[str]] = {
    **dict.fromkeys(
        ("perl", "ruby", "node", "nodejs", "lua", "luajit", "php", "bun", "deno"), re.compile(_CALLS)
    ),
    **dict.fromkeys(("tclsh", "wish"), re.compile(r"\bexec\b")),
    "awk": re.compile(r"\bsystem\b|(?<!\|)\|(?!\|)|\bgetline\b|@load|@include"),
    "bpftrace": re.compile(r"\bsystem\b"),
    "sed": re.compile(
        r"(?:^|[;{}\n/$!,\d|%+~])\s*+e(?=$|[\s;}])|s([^\w\s\\])(?>(?:\\.|(?!\1).)*)\1(?>(?:\\.|(?!\1).)*)\1[gpiImM\d]*+e",
        re.DOTALL,
    ),
    **dict.fromkeys(("psql", "mysql", "mariadb"), re.compile(r"\\!|\bsystem\b")),
    "sqlite3": re.compile(r"\.(?:shell|system|load)\b|\bload_extension\b"),
    **dict.fromkeys(("dc", "less", "more", "most"), re.compile(r"!")),
    "socat": re.compile(r"(?i)\b(?:exec|system|shell)\s*:"),
    **dict.fromkeys(
        ("ssh", "scp", "sftp"), re.compile(r"(?i)(?:proxy|local|knownhosts)command|\bmatch\b.*\bexec\b")
    ),
    "rustc": re.compile(r"(?:^|\W)(?:linker|codegen-backend|wrapper)\b"),
    "wget": re.compile(r"(?i)use[-_]?askpass"),
    "make": re.compile(r"(?i)(?:^|\s)(?:\.?shell(?:flags)?|make|makeflags)\s*[:?+!]*="),
    "vim": re.compile(r"^\+"),
    **dict.fromkeys(("apt", "apt-get", "dpkg"), re.compile(r"(?i)invoke|::options")),
}
"""Words that make such a program run another, anywhere in its arguments."""


def run_by_program(part: Part) -> Inner:
    """Return what a program runs because of its arguments, None when that is nothing."""
    name = _SAME_AS.get(part.name, part.name)
    words = part.words[1:]
    if not words and name not in {"ed", "red", "at", "batch"}:
        return None
    if name in _ALWAYS_UNKNOWN or (name in _EVALUATE and any(_evaluates(one.text) for one in words)):
        return Unknown()
    if name == "crontab":
        return None if words[0].text == "-l" else Unknown()
    if name == "capsh":
        return _capsh(words)
    if (
        name in _LOOSE
        or _LOADER.fullmatch(name)
        or (name == "gdb" and any(one.text == "--args" for one in words))
    ):
        return _suffixes(words)
    if name == "ip":
        at = next((index for index, one in enumerate(words) if one.text in {"exec", "e"}), None)
        return None if at is None else _suffixes(words[at + 1 :])
    if name == "cmake" and [one.text for one in words[:2]] == ["-E", "env"]:
        return _suffixes(words[2:])
    pattern = _BY_TEXT.get("vim" if _BY_OPTION.get(name) is _EDITOR else name)
    if pattern is not None and any(pattern.search(one.text) for one in words):
        return Unknown()
    options = _BY_OPTION.get(name)
    return None if options is None else _by_option(name, words, options)


def _evaluates(text: str) -> bool:
    """Tell whether a word has a subscript with a substitution, which `bash` runs in whatever quotes."""
    return _SUBSTITUTION.search(text, text.find("[") + 1) is not None if "[" in text else False


def _suffixes(words: tuple[Word, ...]) -> Inner:
    """Every word that is no option may begin the command."""
    starts = [
        index for index, one in enumerate(words) if not one.text.startswith("-") and "=" not in one.text
    ]
    if len(starts) > MAX_SUFFIXES:
        return Unknown()
    return Commands(tuple(words[start:] for start in starts)) if starts else None


def _capsh(words: tuple[Word, ...]) -> Inner:
    texts = [one.text for one in words]
    if "==" in texts or any(text.startswith("--shell") for text in texts):
        return Unknown()
    return Commands(((Word("bash", 4), *words[texts.index("--") + 1 :]),)) if "--" in texts else None


def _by_option(name: str, words: tuple[Word, ...], options: _Options) -> Inner:
    values: list[Word | None] = []
    for index, word in enumerate(words):
        if word.text == "--":
            break
        following = words[index + 1] if index + 1 < len(words) else None
        attached = _attached(name, index, word.text, options)
        if attached is not None:
            rest = Word(attached, len(attached) if word.is_certain else 0)
            values.append(rest if attached else following)
    return _of_values(values, options) if values else None


def _of_values(values: list[Word | None], options: _Options) -> Inner:
    texts = [one.text for one in values if one is not None and one.is_certain]
    known = options.runs_text and len(texts) == len(values) and all(texts)
    return Text("\n".join(texts)) if known else Unknown()


def _attached(name: str, index: int, word: str, options: _Options) -> str | None:
    """Return the value that is attached to an option that runs something, "" when it is the next word; None
    for any other word."""
    if word.startswith("--"):
        given, _, value = word.partition("=")
        found = any(_is(given, option, options.shortens) for option in options.long)
        return value if found and given not in _HARMLESS else None
    given, _, value = word.partition("=")
    if given in options.exact:
        return value
    bundle = word[1:] if word.startswith("-") else word if name == "tar" and index == 0 else ""
    at = min((bundle.find(letter) for letter in options.short if letter in bundle), default=-1)
    if at < 0 or any(word.startswith(f"-{one}") for one in _LONG_WITH_ONE_DASH.get(name, ())):
        return None
    return bundle[at + 1 :]


_HARMLESS = frozenset({"--checkpoint", "--to-stdout"})
_LONG_WITH_ONE_DASH = {
    "gdb": ("batch", "nx", "ex", "nh", "quiet", "args", "exec"),
    "emacs": ("batch", "nw", "no", "f"),
}


def _is(given: str, option: str, shortens: bool) -> bool:
    return given == option or (shortens and len(given) > 4 and option.startswith(given))
