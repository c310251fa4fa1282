"""Programs that `git` would run because of settings and options.

Owns: the names of those settings and options. Never: hooks and settings in a repository (the sandbox).
"""

from __future__ import annotations

import re
from itertools import pairwise

from app.tools.authorisation.shell_inner import Commands, Inner, Text, Unknown, script_of
from app.tools.authorisation.shell_script import Word

_VALUED = frozenset({"-C", "--git-dir", "--work-tree", "--namespace", "--super-prefix", "--attr-source"})
_PROGRAM_SETTING = re.compile(
    r"(?i)(?:core\.(?:pager|editor|sshcommand|fsmonitor|hookspath|gitproxy|askpass|alternaterefscommand)"
    r"|sequence\.editor|pager\..+|credential\.(?:.+\.)?helper|diff\.(?:.+\.)?(?:external|command|textconv)"
    r"|(?:difftool|mergetool|browser|man|trailer)\..+\.(?:cmd|command|path)|merge\..+\.driver|filter\..+"
    r"|gpg\.(?:.+\.)?program|gpg\.ssh\.defaultkeycommand|interactive\.difffilter|protocol\.(?:.+\.)?allow"
    r"|remote\..+\.(?:uploadpack|receivepack|vcs)|uploadpack\.packobjectshook|sendemail\..*cmd"
    r"|include(?:if\..+)?\.path|init\.templatedir|submodule\..+\.update|alias\..+)"
)
_PLAIN_ALIAS = re.compile(r"[a-z][a-z-]*")
_SWITCH = {"true", "false", "yes", "no", "on", "off", "0", "1", "never", "always", "cat"}
_SCRIPT_OPTIONS = {
    "rebase": (re.compile(r"-[ikvqfmn]*x(.*)", re.DOTALL), "--exec"),
    "difftool": (re.compile(r"-[ydg]*x(.*)", re.DOTALL), "--extcmd"),
}
"""Options whose value is a script."""
_PROGRAM_OPTIONS = {
    "fetch": ("--upload-pack",),
    "pull": ("--upload-pack",),
    "fetch-pack": ("--upload-pack", "--exec"),
    "ls-remote": ("--upload-pack", "--exec"),
    "clone": ("--upload-pack", "--template"),
    "init": ("--template",),
    "push": ("--receive-pack", "--exec"),
    "send-pack": ("--receive-pack", "--exec"),
    "archive": ("--exec",),
    "grep": ("--open-files-in-pager",),
    "instaweb": ("--httpd", "--browser", "--module-path"),
    "web--browse": ("--browser",),
    "daemon": ("--access-hook",),
    "send-email": ("--smtp-server", "--to-cmd", "--cc-cmd", "--header-cmd", "--sendmail-cmd"),
}
"""Options whose value is a program that is run with more arguments, or a folder with programs."""
_PROGRAM_LETTERS = {
    "clone": re.compile(r"-[vqlsn]*u"),
    "grep": re.compile(r"-[achilnopqrsvwzEFGHILPW]*O."),
    "instaweb": re.compile(r"-[dbm]"),
    "web--browse": re.compile(r"-b"),
}
_PROGRAM_VERBS = frozenset({"filter-branch", "merge-index", "remote-ext", "for-each-repo"})
"""Verbs whose program is an operand, or has too many forms."""


def run_by_git(words: tuple[Word, ...]) -> Inner:
    """Return what `git` with these arguments runs because of them, None when that is nothing."""
    rest = list(words)
    while rest and rest[0].text.startswith("-"):
        option = rest.pop(0).text
        if option.startswith("--exec-path="):
            return Unknown()
        name, attached, value = option.partition("=")
        if option == "-c" and rest:
            inner = _setting(rest.pop(0))
        elif name == "--config-env":
            setting = value if attached else rest.pop(0).text if rest else ""
            inner = Unknown() if _PROGRAM_SETTING.fullmatch(setting.partition("=")[0]) else None
        else:
            rest = rest[1:] if option in _VALUED else rest
            continue
        if inner is not None:
            return inner
    return _verb(rest[0].text, tuple(rest[1:])) if rest else None


def _setting(word: Word) -> Inner:
    name, _, value = word.text.partition("=")
    return _value(name, Word(value, len(value) if word.is_certain else 0))


def _value(name: str, value: Word) -> Inner:
    if not _PROGRAM_SETTING.fullmatch(name):
        return None
    if not value.is_certain:
        return Unknown()
    if name.lower().startswith("alias."):
        if value.text.startswith("!"):
            return Text(value.text[1:])
        return None if _PLAIN_ALIAS.fullmatch(value.text) else Unknown()
    harmless = not name.lower().startswith("protocol.") and value.text.lower() in _SWITCH
    return None if harmless else Unknown()


def _verb(verb: str, words: tuple[Word, ...]) -> Inner:
    if any("ext::" in word.text for word in words) or verb in _PROGRAM_VERBS:
        return Unknown()
    if verb == "config":
        return _config(words)
    if verb == "bisect" and words[:1] and words[0].text == "run":
        return Commands((words[1:],)) if words[1:] else None
    if verb == "submodule" and any(word.text == "foreach" for word in words):
        at = next(index for index, word in enumerate(words) if word.text == "foreach")
        script = tuple(word for word in words[at + 1 :] if word.text not in {"--recursive", "-q", "--quiet"})
        return script_of(script) if script else None
    return _options(verb, words)


def _config(words: tuple[Word, ...]) -> Inner:
    """`git config NAME VALUE`, with whatever options before it."""
    for word, value in pairwise(words):
        inner = _value(word.text, value)
        if inner is not None and not value.text.startswith("-"):
            return inner
    return None


def _options(verb: str, words: tuple[Word, ...]) -> Inner:
    for index, word in enumerate(words):
        following = words[index + 1 : index + 2]
        if word.text == "--":
            return None
        if any(_is_option(word.text, option) for option in _PROGRAM_OPTIONS.get(verb, ())):
            return Unknown()
        letters = _PROGRAM_LETTERS.get(verb)
        if letters is not None and letters.match(word.text):
            return Unknown()
        if verb == "clone" and (word.text == "-c" or _is_option(word.text, "--config")):
            _, attached, value = word.text.partition("=")
            setting = (
                Word(value, len(value) if word.is_certain else 0) if attached else next(iter(following), None)
            )
            inner = None if setting is None else _setting(setting)
            if inner is not None:
                return Unknown()
        if verb in _SCRIPT_OPTIONS:
            inner = _script_option(verb, word, following)
            if inner is not None:
                return inner
    return None


def _script_option(verb: str, word: Word, following: tuple[Word, ...]) -> Inner:
    letters, name = _SCRIPT_OPTIONS[verb]
    short = letters.fullmatch(word.text)
    if short is None and not _is_option(word.text, name):
        return None
    if not word.is_certain:
        return Unknown()
    attached = short[1] if short is not None else word.text.partition("=")[2]
    return Text(attached) if attached else script_of(following) if following else None


def _is_option(word: str, option: str) -> bool:
    """Whether git takes the word for that long option, which it lets be shortened."""
    name = word.partition("=")[0]
    return len(name) > 3 and option.startswith(name)
