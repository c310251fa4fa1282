"""Commands that destroy more than a mistake in a project may cost, or that outlive the session.

Owns: the judgement of one part of a command line. Never: commands that send data (`danger_leaks`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from app.tools.authorisation.danger_places import is_device, is_log, is_start_up, place_of
from app.tools.authorisation.shell_script import Part, Redirect, Script
from app.tools.authorisation.watchdog import Verdict

_FORK_BOMB = re.compile(r"(?<![\w:.])([\w:.]++)\s*+\(\s*+\)\s*+\{\s*+\1\s*+\|\s*+\1\s*+&\s*+;?+\s*+\}")
_POWER = frozenset({"shutdown", "reboot", "halt", "poweroff"})
_FORMATTERS = frozenset({"wipefs", "fdisk", "sfdisk", "sgdisk", "parted", "cfdisk", "mkswap", "blkdiscard"})
_WRITERS = frozenset({"cp", "mv", "tee", "install", "shred", "truncate", "ln", "sed"})
_COSTLY = frozenset({"rm", "dd", "shred", "chmod", "chown", "chgrp", "wipefs", "blkdiscard"})
_RAISERS = frozenset({"sudo", "doas", "su", "pkexec", "runuser"})
_GIT_HOOKS = re.compile(
    r"(?i)(?:core\.(?:pager|editor|sshcommand|fsmonitor|hookspath|gitproxy|askpass)|alias\.[\w-]+"
    r"|credential\.\S*helper|diff\.\S*(?:external|command)|pager\.\w+|filter\.\S+|\S+\.textconv)="
)
_PLACES = {
    "system": ("deny", "it would hit the system itself"),
    "home": ("deny", "it would hit a whole home folder"),
    "above": ("deny", "it would hit what lies above the project"),
    "project": ("deny", "it would hit the whole project"),
    "history": ("deny", "it would hit the project's history"),
    "other_history": ("ask", "it would hit the history of a repository"),
    "everything": ("ask", "it would hit everything in the folder it runs in"),
    "perhaps_root": ("ask", "with an empty variable it would hit the root of the file system"),
}

Judge = Callable[[Part, Path], Verdict | None]


def judge_script(script: Script) -> Verdict | None:
    """Judge what only shows in the text as a whole."""
    if _FORK_BOMB.search(script.text):
        return Verdict("deny", "this is a fork bomb: it would use up the machine's processes")
    return None


def judge_redirect(redirect: Redirect) -> Verdict | None:
    """Judge a file that the shell itself opens."""
    path = redirect.path.text
    if not redirect.writes:
        return None
    if is_device(path):
        return Verdict("deny", f"it would overwrite the device {path}", (path,))
    if is_log(path):
        return Verdict("deny", f"it would wipe {path}, which records what was done", (path,))
    if is_start_up(path):
        return Verdict("ask", f"{path} takes effect beyond this session", (path,))
    return None


def judge_part(part: Part, root: Path) -> Verdict | None:
    """Judge one command; None when nothing is wrong with it."""
    name = part.name
    judge = _JUDGES.get(name)
    if judge is not None:
        return judge(part, root)
    if name in _POWER:
        return _verdict("deny", "it would stop the machine", part)
    if name.startswith("mkfs") or name in _FORMATTERS:
        return _verdict("deny", "it would format or wipe a disk", part)
    if name in _WRITERS:
        return _writer(part, root)
    if name in _RAISERS:
        return _verdict("ask", "it would run with another user's rights", part)
    return None


def judge_guess(guess: Part, root: Path) -> Verdict | None:
    """Judge what a command may run besides itself: what would cost files is asked about."""
    if guess.name not in _COSTLY and not guess.name.startswith("mkfs."):
        return None
    verdict = judge_part(guess, root)
    return None if verdict is None else replace(verdict, action="ask")


def _verdict(action: str, reason: str, part: Part) -> Verdict:
    return Verdict("deny" if action == "deny" else "ask", f"`{part.text[:200]}`: {reason}", (part.text,))


def _flags(part: Part) -> set[str]:
    """Short options letter by letter, long ones by name."""
    found: set[str] = set()
    for word in part.arguments:
        if word.startswith("--"):
            found.add(word.partition("=")[0])
        elif word.startswith("-"):
            found.update(word[1:])
    return found


def _operands(part: Part) -> list[str]:
    return [word for word in part.arguments if not word.startswith("-")]


def _at_places(part: Part, paths: list[str], root: Path) -> Verdict | None:
    verdicts = []
    for path in paths:
        place = place_of(path, root)
        if place is not None:
            verdicts.append(_verdict(*_PLACES[place], part))
    verdicts.sort(key=lambda verdict: verdict.action == "ask")
    return verdicts[0] if verdicts else None


def _rm(part: Part, root: Path) -> Verdict | None:
    flags = _flags(part)
    if "--no-preserve-root" in flags:
        return _verdict("deny", "it switches off the protection of the root folder", part)
    if any(is_log(path) for path in _operands(part)):
        return _verdict("deny", "it would remove what records the things that were done", part)
    if flags & {"r", "R", "--recursive"} or part.inside == "find":
        return _at_places(part, _operands(part), root)
    return None


def _find(part: Part, root: Path) -> Verdict | None:
    words = part.arguments
    removes = "-delete" in words or any(
        word in {"-exec", "-execdir"} and words[index + 1 : index + 2] in {("rm",), ("shred",)}
        for index, word in enumerate(words)
    )
    narrowed = any(word in {"-name", "-iname", "-path", "-regex", "-empty", "-type"} for word in words)
    if not removes:
        return None
    starts = []
    for word in words:
        if word.startswith(("-", "(", "!")):
            break
        starts.append(word)
    found = _at_places(part, starts or ["."], root)
    local = starts in ([], ["."]) or set(starts) <= {str(root), "./"}
    return None if found is None or (local and narrowed) else found


def _dd(part: Part, _root: Path) -> Verdict | None:
    target = next((word[3:] for word in part.arguments if word.startswith("of=")), "")
    return _verdict("deny", f"it would overwrite the device {target}", part) if is_device(target) else None


def _writer(part: Part, root: Path) -> Verdict | None:
    operands, flags = _operands(part), _flags(part)
    if part.name == "sed" and not flags & {"i", "--in-place"}:
        return None
    if any(is_device(path) for path in operands[-1:] if part.name != "ln"):
        return _verdict("deny", f"it would overwrite the device {operands[-1]}", part)
    if part.name in {"shred", "truncate"} and any(is_log(path) for path in operands):
        return _verdict("deny", "it would wipe what records the things that were done", part)
    if part.name == "mv" and len(operands) > 1:
        hit = _at_places(part, [one for one in operands[:-1] if "*" not in one], root)
        if hit is not None:
            return hit
    # These change all that they name; with `-t` the place is not the last one.
    all_of_them = part.name in {"tee", "sed", "truncate"} or flags & {"t", "--target-directory"}
    changed = [*(operands if all_of_them else operands[-1:]), *_target_options(part)]
    held = next((path for path in changed if is_start_up(path)), None)
    if held is not None and part.name != "shred":
        return _verdict("ask", f"what is put at {held} runs or holds beyond this session", part)
    return None


def _target_options(part: Part) -> list[str]:
    name = "--target-directory="
    return [word.removeprefix(name) for word in part.arguments if word.startswith(name)]


def _owner(part: Part, root: Path) -> Verdict | None:
    paths = [path for path in _operands(part) if path not in {".", "*", "./*"}]
    if not _flags(part) & {"R", "--recursive"}:
        paths = [path for path in paths if place_of(path, root) in {"system", "home", "above"}]
    return _at_places(part, paths, root)


def _git(part: Part, _root: Path) -> Verdict | None:
    words = list(part.arguments)
    while words and words[0].startswith("-"):
        if words[0] in {"-c", "--config-env"} and any(_GIT_HOOKS.match(word) for word in words[1:2]):
            return _verdict("ask", "it makes git run a program of the command's own choice", part)
        words = words[2:] if words[0] in {"-c", "-C", "--git-dir", "--work-tree"} else words[1:]
    verb, flags = (words[0] if words else ""), _flags(part)
    if verb == "push":
        plus = any(word.startswith("+") for word in words[1:])
        if plus or flags & {"f", "--force", "--mirror", "--delete", "d", "--prune"}:
            return _verdict("ask", "it can remove what others have pushed; --force-with-lease is safer", part)
    if verb == "reset" and "--hard" in flags:
        return _verdict("ask", "changes that are not committed would be lost", part)
    if verb == "clean" and flags & {"f", "--force"} and not flags & {"n", "--dry-run"}:
        return _verdict("ask", "files that git does not know would be lost", part)
    if verb in {"filter-branch", "filter-repo"} or (verb == "reflog" and "expire" in words):
        return _verdict("ask", "it rewrites or forgets the project's history", part)
    return None


def _kill(part: Part, _root: Path) -> Verdict | None:
    targets = [word for word in part.arguments if re.fullmatch(r"-?\d+", word)]
    is_all = part.name == "killall5" or (targets[-1:] == ["-1"] and len(part.arguments) > 1)
    return _verdict("deny", "it would end every process, the daemon's too", part) if is_all else None


def _history(part: Part, _root: Path) -> Verdict | None:
    if "c" in _flags(part):
        return _verdict("deny", "it would wipe the record of what was done", part)
    return None


def _journal(part: Part, _root: Path) -> Verdict | None:
    if any(flag.startswith("--vacuum") or flag == "--rotate" for flag in _flags(part)):
        return _verdict("deny", "it would wipe the system's log", part)
    return None


def _crontab(part: Part, _root: Path) -> Verdict | None:
    listing = "l" in _flags(part) and "r" not in _flags(part)
    return None if listing else _verdict("ask", "it sets up something that runs after this session", part)


def _service(part: Part, _root: Path) -> Verdict | None:
    verbs = set(_operands(part)[:1])
    if verbs & {"poweroff", "reboot", "halt", "kexec", "suspend", "hibernate"}:
        return _verdict("deny", "it would stop the machine", part)
    if verbs & {"enable", "link", "edit", "mask", "load", "bootstrap"}:
        return _verdict("ask", "it sets up something that runs after this session", part)
    return None


def _init(part: Part, _root: Path) -> Verdict | None:
    stops = part.arguments[:1] in {("0",), ("6",)}
    return _verdict("deny", "it would stop the machine", part) if stops else None


def _later(part: Part, _root: Path) -> Verdict | None:
    return _verdict("ask", "it sets up something that runs after this session", part)


_JUDGES: dict[str, Judge] = {
    "rm": _rm, "rmdir": _rm, "unlink": _rm, "find": _find, "dd": _dd, "chmod": _owner, "chown": _owner,
    "chgrp": _owner, "git": _git, "kill": _kill, "killall5": _kill, "history": _history,
    "journalctl": _journal, "crontab": _crontab, "systemctl": _service, "launchctl": _service,
    "init": _init, "telinit": _init, "at": _later, "batch": _later,
}  # fmt: skip
