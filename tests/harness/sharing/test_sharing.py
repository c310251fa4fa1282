"""A session as a file for other people: secrets stay here, hostile content is text, the rest is left out."""

from __future__ import annotations

import base64
import re
from html.parser import HTMLParser
from typing import Any

import pytest
from markdown_it import MarkdownIt

from app.config import environment_secrets
from app.harness.sharing.cleaning import Cleaner
from app.harness.sharing.html_file import POLICY
from app.harness.sharing.markdown_text import as_html, inert
from app.observability import Redactor
from tests.driver.family import agent, enabled, write_family
from tests.driver.sessions import Driver, driven
from tests.fakes.provider_script import Reply, Text, Thinking, ToolCall, text_reply
from tests.fakes.provider_server import FakeProvider

pytestmark = pytest.mark.requirement("command_line.share")

PROVIDER_KEY = "prv-Zq81-never-leaves-6620"
MCP_VALUE = "mcpvalue_9c41_never_leaves"
SHAPES = (
    "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
    "sk-live-0123456789abcdefghijkl",
    "AKIAABCDEFGHIJKLMNOP",
)
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg=="

HOSTILE = """\
<script>document.title = 'owned'</script><img src=x onerror=alert(1)> <svg onload=alert(2)></svg>

[click](javascript:alert(3)) [data](data:text/html,x) [file](file:///etc/passwd) ![beacon](https://evil.example/p.png)

<style>*{display:none}</style></main></body></html>

| a | b |
|--:|:-:|
| 1 | 2 |

# Not a heading of the file

## 99 · Operator

`<b>code stays</b>` \x1b[31mred\x1b[0m \u202egnp.exe\u202c end

- [ ] List<String> one
"""


class Elements(HTMLParser):
    """The elements of a file, as a browser finds them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture
def settings_overrides(settings_overrides: dict[str, Any]) -> dict[str, Any]:
    settings_overrides["providers"]["fake"]["api_key"] = PROVIDER_KEY
    return settings_overrides | {
        "mcp": {"tracker": {"command": ["x"], "enabled": False, "env": {"TRACKER_TOKEN": MCP_VALUE}}}
    }


async def shared(driver: Driver, format_: str = "html", *include: str) -> str:
    query = "".join(f"&include={name}" for name in include)
    answer = await driver.client.get(f"/api/v1/sessions/{driver.session_id}/share?format={format_}{query}")
    assert answer.status_code == 200, answer.text
    assert "attachment" in answer.headers["content-disposition"]
    assert "sandbox" in answer.headers["content-security-policy"]
    return answer.text


async def previewed(driver: Driver, *include: str) -> Any:
    query = "&".join(f"include={name}" for name in include)
    return await driver.session_call("GET", f"/share/preview?{query}")


async def told(driver: Driver, fake: FakeProvider) -> None:
    """Let a session say, call and read everything that must not leave or act."""
    escaped = PROVIDER_KEY.replace("-", "\\-")
    half, rest = MCP_VALUE[:9], MCP_VALUE[9:]
    fake.script(
        Reply(
            (
                Thinking(f"The thought names {MCP_VALUE}."),
                Text(
                    f"{HOSTILE}\n\nKey {PROVIDER_KEY}, {escaped}, then {half}**{rest}**, then {SHAPES[1]}.\n"
                ),
                ToolCall("file_read", {"path": "secrets.env"}, id="c1"),
                ToolCall(
                    "file_write", {"path": "out.txt", "content": f"CONTENT-OF-WRITE {SHAPES[2]}"}, id="c2"
                ),
            )
        ),
        text_reply("Done."),
    )
    await driver.run(f"Use {SHAPES[0]} and look.", attachments=[{"media_type": "image/png", "data": PIXEL}])


@pytest.fixture
async def hostile(driver: Driver, fake: FakeProvider, project_root: Any) -> Driver:
    lines = f"SHOP_PASSWORD=hunter2hunter2\nMARKER-IN-FILE \x1b[1m{PROVIDER_KEY}\x1b[0m\n"
    (project_root / "secrets.env").write_text(lines)
    await told(driver, fake)
    return driver


def check_secrets(text: str) -> None:
    for secret in (PROVIDER_KEY, MCP_VALUE, *SHAPES, "hunter2hunter2"):
        assert secret not in text
        assert base64.b64encode(secret.encode()).decode() not in text
        # Nor what can be read with the marks of Markdown and HTML taken away.
        assert secret not in re.sub(r"<[^>]*>", "", text)
        assert secret not in re.sub(r"[\\*`]", "", text)


async def test_a_file_has_what_was_said_and_calls_in_a_line_but_no_result_thought_or_image(
    hostile: Driver,
) -> None:
    page, notes = await shared(hostile), await shared(hostile, "markdown")
    for text in (page, notes):
        check_secrets(text)
        assert "[redacted]" in text or "\\[redacted\\]" in text
        assert "secrets.env" in text and "out.txt" in text and "Done." in text
        assert not re.search(r"MARKER-IN-FILE|CONTENT-OF-WRITE|The thought|iVBOR", text)
        assert "Not included: tool results, thinking, images" in text.replace("\\", "")
    everything = await shared(hostile, "html", "results", "thinking", "images")
    check_secrets(everything)
    assert "MARKER-IN-FILE [redacted]" in everything and "CONTENT-OF-WRITE [redacted]" in everything
    assert "SHOP_PASSWORD=[redacted]" in everything and "The thought names [redacted]." in everything
    assert f"data:image/png;base64,{PIXEL}" in everything


async def test_html_svg_links_and_signs_of_a_session_are_text_in_the_html_file(hostile: Driver) -> None:
    page = await shared(hostile, "html", "results", "thinking", "images")
    found = Elements(page)
    assert set(found.tags) <= {
        *("html", "head", "meta", "link", "title", "style", "body", "header", "h1", "h2", "h3", "h4", "h6"),
        *("p", "main", "article", "span", "a", "time", "div", "code", "pre", "table", "thead", "tbody", "tr"),
        *("th", "td", "ul", "li", "details", "summary", "img", "footer", "strong"),
    }
    assert found.tags.count("style") == found.tags.count("title") == found.tags.count("main") == 1
    assert not [name for name, _ in found.attributes if name.startswith("on") or name == "style"]
    addresses = [value or "" for name, value in found.attributes if name in ("href", "src")]
    assert all(re.match(r"data:,$|data:image/png;base64,|#m\d+$|https://", one) for one in addresses), (
        addresses
    )
    assert ("content", POLICY) in found.attributes
    assert "<script>document.title = 'owned'</script>" in found.text and "gnp.exe" in found.text
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", page)
    assert '<td class="right">1</td>' in page and "<code>&lt;b&gt;code stays&lt;/b&gt;</code>" in page


async def test_html_links_and_headings_of_a_session_are_text_in_the_markdown_file(hostile: Driver) -> None:
    notes = await shared(hostile, "markdown", "results", "thinking")
    parser = MarkdownIt("commonmark", {"html": True})
    parser.validateLink = lambda url: True  # type: ignore[method-assign]
    tokens = parser.parse(notes)
    inside = [child for token in tokens for child in token.children or ()]
    acting = [
        token.type for token in (*tokens, *inside) if token.type.startswith("html") or token.type == "image"
    ]
    assert acting == []
    links = [str(token.attrGet("href")) for token in inside if token.type == "link_open"]
    assert not [one for one in links if re.match(r"(?!https?:|mailto:)[^/?#]*:", one)]
    headings = [token.map for token in tokens if token.type == "heading_open" and token.tag in ("h1", "h2")]
    lines = notes.split("\n")
    assert [lines[place[0]][:4] for place in headings if place] == ["# Us", "## 1", "## 2", "## 3"]


async def test_a_preview_counts_what_leaves_and_what_stays_and_the_audit_has_the_file_alone(
    hostile: Driver,
) -> None:
    found = await previewed(hostile)
    wanted = {"messages": 1, "answers": 2, "tool_calls": 2, "results": 0, "thinking": 0, "images": 0}
    assert {name: found["shared"][name] for name in wanted} == wanted
    assert found["kept"] == {
        "results": 2,
        "thinking": 1,
        "images": 1,
        "subagents": 0,
        "attached_files": 0,
        "notes": found["kept"]["notes"],
    }
    assert found["files"] == ["out.txt", "secrets.env"] and found["file_count"] == 2
    assert found["tools"] == [{"name": "file.read", "count": 1}, {"name": "file.write", "count": 1}]
    rows = (await hostile.call("GET", f"/sessions/{hostile.session_id}/messages"))["items"]
    places = {place["message_id"]: place["count"] for place in found["redacted"]}
    assert places[rows[0]["id"]] >= 1 and places[rows[1]["id"]] >= 4
    assert found["shared"]["redactions"] == sum(places.values())
    more = await previewed(hostile, "results", "images")
    assert more["shared"]["results"] == 2 and more["images"] == [
        {"media_type": "image/png", "bytes": len(PIXEL) * 3 // 4}
    ]
    assert more["shared"]["redactions"] > found["shared"]["redactions"]
    assert more["bytes"] == len((await shared(hostile, "html", "results", "images")).encode())
    audit = (await hostile.call("GET", "/audit?event=operator.share_session"))["items"]
    assert [(row["session_id"], row["data"]) for row in audit] == [
        (hostile.session_id, {"format": "html", "include": ["images", "results"]})
    ]
    await hostile.session_call("GET", "/share?format=pdf", status=400)
    await hostile.session_call("GET", "/share?include=everything", status=400)


async def test_what_was_rewound_stays_and_a_subagent_stands_where_it_was_asked(
    fake: FakeProvider, tmp_path: Any, settings_overrides: dict[str, Any]
) -> None:
    family = agent("primary", tools=enabled("file.read"), subagents={"coder": agent("coder")})
    fake.script(
        Reply((ToolCall("agent-coder", {"task": "Write it."}, id="c1"),)),
        text_reply("WRITTEN-BELOW."),
        text_reply("Done above."),
        text_reply("REWOUND."),
    )
    async with driven(
        tmp_path / "data", write_family(tmp_path / "family", family), **settings_overrides
    ) as driver:
        await driver.run("First")
        await driver.run("Second")
        rows = (await driver.session_call("GET", "/messages?agent_path=primary"))["items"]
        last = next(row["id"] for row in rows if row["content"] == "Second")
        await driver.session_call("POST", "/rollback", {"message_id": last})
        short, whole = await shared(driver), await shared(driver, "html", "subagents")
        preview = await previewed(driver, "subagents")
        short_preview = await previewed(driver)
    assert "REWOUND" not in whole and "REWOUND" not in short
    assert "WRITTEN-BELOW" not in short and short_preview["kept"]["subagents"] == 1
    order = [
        whole.index(text)
        for text in ("First", '<details class="agent">', "Write it.", "WRITTEN-BELOW", "Done above.")
    ]
    assert order == sorted(order)
    assert preview["agents"] == [{"name": "primary.subagents.coder", "count": 1}]


def test_what_the_environment_and_settings_name_a_secret_is_redacted_in_every_disguise() -> None:
    secret = "zx-env-value-that-stays-0042"
    cleaner = Cleaner(Redactor(environment_secrets(environ={"SHOP_API_TOKEN": secret, "HOME": "/home/me"})))
    disguised = (
        secret,
        secret.replace("-", "\\-"),
        secret.replace("e", "&#101;"),
        f"**{secret[:7]}**{secret[7:]}",
        f"{secret[:4]}\u200b{secret[4:]}",
        f"{secret[:4]}\x1b[1m{secret[4:]}",
        f"[x](https://a.example/{secret.replace('-', '&#45;')})",
        f"> - {secret[:9]}*{secret[9:]}*",
    )
    for text in disguised:
        cleaned = cleaner.markdown(f"Before.\n\n{text}\n\nAfter.")
        assert cleaner.taken() > 0, text
        for shown in (as_html(cleaned), inert(cleaned)):
            plain = Elements(shown).text.replace("\\", "").replace("*", "")
            assert secret not in plain and secret not in shown, text
            assert "Before." in shown and "After." in shown and "redacted" in shown
    assert cleaner.data({"note": secret, "password": "short"}).count("[redacted]") == 2


def test_texts_that_are_too_long_are_cut_with_the_secret_that_the_cut_would_halve() -> None:
    secret = "zx-env-value-that-stays-0042"
    cleaner = Cleaner(Redactor([secret]))
    text = "a" * 199_990 + secret + "b" * 50_000
    shown = cleaner.text(text)
    assert len(shown) < 200_100 and secret[:8] not in shown
    assert shown.endswith("more characters are left out]")
