"""What credentials look like: keys with a known beginning, tokens, passwords in addresses and commands.

Owns: the shapes, and taking them out of a text in time that grows with its length. Never: secrets
that are known by their value (`redactor`).
"""

from __future__ import annotations

import re

MASK = "********"

_NAMED = r"(?:secret|token|passw(?:or)?d|passphrase|api[_-]?key|access[_-]?key|private[_-]?key|credential)"
_NOT_SECRET = r"(?!(?:\d+(?:\.\d+)?|true|false|none|null|undefined|[*]+)\b)"
"""Counts of tokens and the like, and what is masked already."""

_Rule = tuple[tuple[str, ...], re.Pattern[str]]
"""What a text must have in it, in lower case, for the pattern to be worth trying; and the pattern,
whose groups `keep` and `option` stay. Where it has an `option` that found nothing, all stays."""


def _rule(markers: str, pattern: str, flags: re.RegexFlag = re.NOFLAG) -> _Rule:
    return tuple(markers.split(" ")), re.compile(pattern, flags)


_ARGUMENT = r"(?>(?:(?<=[\s=])(?:\"[^\"\r\n]*+\"|'[^'\r\n]*+')|[^\s;|&])+)"
_BARE = r"[^\s\"'&;|<>`()]"


def _command_rule(markers: str, programs: str, option: str, before: str = "") -> _Rule:
    """What follows `option`, and `before` it in the same word, among the arguments of one of `programs`.

    A command is matched to its end also without the option: were it looked at again for each name of a
    program in it, the time would grow with the square of its length."""
    gap = r"(?>(?:[ \t]|\\\r?\n)+)"
    arguments = rf"(?>(?:{gap}(?!{option}[\"']?{before}{_BARE}){_ARGUMENT})*)"
    value = rf"(?(quote)(?:(?!(?P=quote))[^\r\n])+|{_BARE}+)"
    return _rule(
        markers,
        rf"(?P<keep>(?<![\w.-])(?:{programs})(?:\.exe)?(?=\s){arguments})"
        rf"(?:(?P<option>{gap}{option}(?>(?P<quote>[\"'])?){before}){value})?",
    )


_RULES: tuple[_Rule, ...] = (
    # A private key, to its end or to where the text was cut.
    _rule(
        "private",
        r"(?P<keep>-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,10}-----)"
        r".*?(?=-----END [A-Z0-9 ]{0,40}PRIVATE KEY|\Z)",
        re.DOTALL,
    ),
    # Headers: the whole value, which may have spaces. What stands for a token in a guide stays.
    _rule(
        "authorization cookie api-key -token",
        r"(?P<keep>\b(?:(?:proxy-)?authorization|(?:set-)?cookie|x-api-key|api-key|x-goog-api-key|x-auth-token"
        r"|private-token|x-kaged-auth-nonce)[\"']?[ \t]{0,8}:[ \t]{0,8}[\"']?(?!(?:\w+ )?[<*]))"
        r"[^\s\"'`<>][^\"'`<>\r\n]{3,}",
        re.IGNORECASE,
    ),
    _rule("bearer", r"(?P<keep>\bBearer\s{1,8}|\bkaged\.bearer\.)[^\s&\"'@,;<>`]{4,}", re.IGNORECASE),
    # In addresses: in the query, as the password, as a long user name.
    _rule(
        "token= key= secret= password= signature= sig= code=",
        r"(?P<keep>[?&](?:[a-z_-]{0,40}(?:token|key|secret|password|signature)|sig|code)=)[^\s&\"'#<>]{4,}",
        re.IGNORECASE,
    ),
    _rule("://", r"(?P<keep>://[^/?#\s:@\"']{0,256}:)[^/?#\s@\"']+(?=@)"),
    _rule("://", r"(?P<keep>://)[^/?#\s:@\"']{20,}(?=@)"),
    # In commands, settings and data: NAME=value, --name value, "name": "value".
    _rule(
        "secret token passw passphrase key= key credential",
        rf"(?P<keep>(?<![\w.-])[\w.-]{{0,64}}?{_NAMED}(?!s)[\w.-]{{0,32}}=[\"']?){_NOT_SECRET}[^\s\"'&;|<>`]{{3,}}",
        re.IGNORECASE,
    ),
    _rule(
        "--",
        rf"(?P<keep>(?<!\S)--?[\w-]{{0,40}}?{_NAMED}(?:[ \t]{{1,8}}|=)[\"']?)"
        rf"{_NOT_SECRET}(?!-)[^\s\"'&;|<>`]{{3,}}",
        re.IGNORECASE,
    ),
    _rule(
        "secret token passw passphrase key credential",
        rf"(?P<keep>[\"'][\w.-]{{0,64}}?{_NAMED}[\"']\s{{0,8}}:\s{{0,8}}(?P<quote>[\"']))[^\"'\\\r\n]{{3,}}(?=(?P=quote))",
        re.IGNORECASE,
    ),
    # Passwords that commands take right after a letter, or after a user's name.
    _command_rule(
        "mysql mariadb mycli",
        r"(?:mysql|mariadb-)(?:dump|admin|import|check|show|slap|binlog|pump|sh)|mysql|mariadb|mycli",
        r"-[ABCEHNTXbfijnqrstvw]{0,20}p",
    ),
    _command_rule(
        "curl",
        "curl",
        r"(?:-[#0-9BGIJLMNORSafgijklnpqsv]{0,20}[uU][ \t=]{0,8}|--(?:proxy-)?user(?:=|[ \t]{1,8}))",
        r"[^\s\"'&;|<>`():]{0,256}+:",
    ),
    # JSON Web Tokens, signed or encrypted. A word is looked through once, however often it says `eyJ`.
    _rule(
        "eyj",
        r"(?<![\w-])(?P<keep>(?>(?:(?!\beyJ)[\w-])*))eyJ[A-Za-z0-9_-]{8,}+(?:\.[A-Za-z0-9_-]{4,}+){1,4}",
        re.ASCII,
    ),
    # Keys of services, by how they begin.
    _rule("kgd_", r"\bkgd_[A-Za-z0-9_-]{20,}"),
    _rule("sk- rk_ sk_", r"\b(?:sk-|[rs]k_(?:live|test)_)[A-Za-z0-9_-]{16,}", re.IGNORECASE),
    _rule("gh github_pat_", r"\b(?:gh[oprsu]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,})"),
    _rule("glpat- gldt-", r"\bgl(?:pat|dt|ptt|rt)-[A-Za-z0-9_-]{16,}"),
    _rule("akia asia", r"\bA(?:KIA|SIA)[A-Z0-9]{16}\b"),
    _rule("aiza", r"\bAIza[A-Za-z0-9_-]{30,}"),
    _rule("ya29.", r"\bya29\.[A-Za-z0-9_-]{20,}"),
    _rule("xox xapp-", r"\bx(?:ox[a-z]|app)-[A-Za-z0-9-]{10,}"),
    _rule("hooks.slack", r"(?P<keep>hooks\.slack\.com/(?:services|workflows)/)[A-Za-z0-9/_-]{16,}"),
    _rule("npm_", r"\bnpm_[A-Za-z0-9]{30,}"),
    _rule("pypi-", r"\bpypi-[A-Za-z0-9_-]{32,}"),
    _rule("hf_", r"\bhf_[A-Za-z0-9]{20,}"),
    _rule(
        "gsk_ xai- tvly- whsec_ shpat_ dop_v1_",
        r"\b(?:gsk_|xai-|tvly-|whsec_|shpat_|dop_v1_)[A-Za-z0-9_-]{16,}",
    ),
    _rule("sg.", r"\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"),
)


_BY_MARKER: dict[str, tuple[int, ...]] = {
    marker: tuple(number for number, (markers, _) in enumerate(_RULES) if marker in markers)
    for markers, _ in _RULES
    for marker in markers
}


def without_shapes(text: str) -> str:
    """Return `text` with everything masked that has the shape of a credential."""
    lower = text.lower()
    found = [marker for marker in _BY_MARKER if marker in lower]
    if not found:
        return text
    for number in sorted({number for marker in found for number in _BY_MARKER[marker]}):
        text = _RULES[number][1].sub(_masked, text)
    return text


def _masked(found: re.Match[str]) -> str:
    groups = found.groupdict(default="")
    if "option" in groups and not groups["option"]:
        return found[0]
    return groups.get("keep", "") + groups.get("option", "") + MASK
