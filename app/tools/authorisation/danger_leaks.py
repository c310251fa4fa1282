"""Commands that run what they download, or send data out of the project.

Owns: judging network commands and the data they are given. Never: which hosts may be reached (cage and
rules).
"""

from __future__ import annotations

import re

from app.tools.authorisation.danger_places import is_key, is_secret
from app.tools.authorisation.shell_inner import Shell, Text, Unknown
from app.tools.authorisation.shell_script import Part, Script
from app.tools.authorisation.shell_wrappers import SHELLS, inner_of
from app.tools.authorisation.watchdog import Verdict

_FETCHERS = frozenset({"curl", "wget", "http", "https", "httpie", "aria2c", "fetch", "lynx"})
_SOCKETS = frozenset({"nc", "ncat", "netcat", "socat", "telnet"})
_COPIERS = frozenset({"scp", "rsync", "sftp", "rclone", "ftp", "lftp"})
_NETWORK = _FETCHERS | _SOCKETS | _COPIERS | {"ssh", "openssl", "aws", "gsutil", "gcloud", "s3cmd"}
_LOOKUPS = frozenset({"dig", "nslookup", "host", "ping", "drill"})
_INTERPRETERS = frozenset({"python", "python3", "perl", "ruby", "node", "php", "lua", "deno", "bun"})
_DECODERS = frozenset({"base64", "base32", "xxd", "openssl", "uudecode"})
_READERS = frozenset(
    {"cat", "head", "tail", "less", "more", "base64", "base32", "xxd", "od", "hexdump", "strings", "tar"}
    | {"zip", "gzip", "bzip2", "xz", "cp", "grep", "egrep", "rg", "sed", "awk", "cut", "sort", "tac"}
    | {"openssl", "gpg", "dd", "tee", "jq", "python", "python3", "perl", "nl", "rev"}
)
_DUMPERS = frozenset({"env", "printenv", "set", "export", "declare"})
_LOCAL = re.compile(
    r"(?:^|@|//|\s)(?:localhost|127\.\d+\.\d+\.\d+|\[?::1\]?|0\.0\.0\.0|host\.docker\.internal)(?=$|[:/\s])"
)
_WHOLE_FILE = re.compile(r"-T|--upload-file|--post-file|--body-file")
_SENDING = re.compile(
    r"(?P<short>-[dF])(?P<at>.*)|(?P<long>--data[a-z-]*|--json|--form[a-z-]*)(?:=(?P<is>.*))?", re.DOTALL
)
_REMOTE = re.compile(r"(?:[\w.-]+@)?[\w.-]+:(?!/{0,1}\\)|^(?:s3|gs|rsync|sftp|ftp)://")


def judge_leaks(script: Script) -> Verdict | None:
    """Judge a whole command line; the worst of what is found, None when nothing is."""
    found = [verdict for part in script.parts for verdict in _judge(part, script)]
    found.sort(key=lambda verdict: verdict.action == "ask")
    return found[0] if found else None


def _judge(part: Part, script: Script) -> list[Verdict]:
    verdicts = [_runs_foreign(part), _sends(part), _reads_key(part)]
    if _talks(part):
        verdicts.append(_sends_secrets(part, script))
    return [verdict for verdict in verdicts if verdict is not None]


def _verdict(action: str, reason: str, part: Part) -> Verdict:
    return Verdict("deny" if action == "deny" else "ask", f"`{part.text[:200]}`: {reason}", (part.text,))


def _talks(part: Part) -> bool:
    """Whether the part talks to another machine."""
    if part.name not in _NETWORK and part.name not in _LOOKUPS:
        return False
    if part.name == "openssl":
        return "s_client" in part.arguments
    if part.name in {"rsync", "scp"}:
        return any(_is_remote(word) for word in part.arguments)
    return not _LOCAL.search(" ".join(part.arguments))


def _is_remote(word: str) -> bool:
    return not word.startswith(("-", "/", "./", "../", "~")) and _REMOTE.match(word) is not None


def _runs_foreign(part: Part) -> Verdict | None:
    """An interpreter runs downloaded or encoded input."""
    inner = inner_of(part)
    unknown = isinstance(inner, Shell | Unknown) or (isinstance(inner, Text) and not inner.whole)
    takes_input = unknown and (part.name in SHELLS or part.name == "eval")
    sources = part.name in {"source", "."} and any(not word.is_certain for word in part.words[1:])
    interprets = part.name in _INTERPRETERS and part.arguments[:1] in {(), ("-",)}
    if not (takes_input or sources or interprets):
        return None
    names = {one.name for one in part.all_inputs()}
    if names & _FETCHERS:
        return _verdict("ask", "it runs what was fetched from the network, unseen", part)
    if names & _DECODERS:
        return _verdict("ask", "it runs text that is hidden in an encoding", part)
    return None


def _sends(part: Part) -> Verdict | None:
    if not _talks(part):
        return None
    inputs = {one.name for one in part.all_inputs()}
    reads = bool(inputs & (_READERS | _DUMPERS))
    if part.name in _FETCHERS and _uploads(part):
        return _verdict("ask", "it sends the content of files to another machine", part)
    if part.name in _FETCHERS | _LOOKUPS and reads:
        return _verdict("ask", "it puts the content of files into what it sends", part)
    if part.name in _SOCKETS and not ({"-z"} & set(part.arguments)):
        return _verdict("ask", "it opens a plain connection that can carry anything", part)
    if part.name in _COPIERS and (part.name not in {"scp", "rsync"} or _is_remote(part.arguments[-1])):
        return _verdict("ask", "it copies files to another machine", part)
    if part.name == "ssh" and reads:
        return _verdict("ask", "it sends the content of files to another machine", part)
    return None


def _uploads(part: Part) -> bool:
    """`-T file`, `-d @file`, `-F name=@file`, `--post-file`: options that send a file's content."""
    words = part.arguments
    for index, word in enumerate(words):
        if _WHOLE_FILE.match(word):
            return True
        option = _SENDING.fullmatch(word)
        if option is None:
            continue
        name = option["short"] or option["long"]
        value = option["at"] or option["is"] or "".join(words[index + 1 : index + 2])
        if name in {"-F", "--form"} and re.search(r"=[@<]", value):
            return True
        if "@" in value if name == "--data-urlencode" else value.startswith("@"):
            return True
    return False


def _sends_secrets(part: Part, script: Script) -> Verdict | None:
    """Credentials are read anywhere in a command line that talks to another machine."""
    readers = [one for one in script.parts if one.name in _READERS]
    read = [word for one in readers for word in one.arguments if is_secret(word)]
    read += [one.path.text for one in script.redirects if not one.writes and is_secret(one.path.text)]
    read += [word for word in _handed_over(part) if is_secret(word.lstrip("@<"))]
    dumps = any(one.name in _DUMPERS and len(one.words) == 1 for one in part.all_inputs())
    if read or dumps:
        what = read[0] if read else "the environment"
        return _verdict("deny", f"it reads credentials ({what}) and talks to another machine", part)
    return None


def _handed_over(part: Part) -> list[str]:
    """The words that name files a network command would send itself."""
    if part.name in _FETCHERS:
        return [piece for word in part.arguments for piece in re.split(r"[=\s]", word)]
    if part.name in {"scp", "rsync"}:
        words = list(part.arguments)
        skipped = {index + 1 for index, word in enumerate(words) if word in {"-i", "-e", "-o", "-F"}}
        return [word for index, word in enumerate(words[:-1]) if index not in skipped]
    return []


def _reads_key(part: Part) -> Verdict | None:
    if part.name in _READERS and any(is_key(word) for word in part.arguments):
        return _verdict("ask", "it reads private keys or passwords", part)
    return None
