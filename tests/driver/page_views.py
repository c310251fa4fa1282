"""Every view of the page, on a project in which there is something to see in each of them.

Owns: making that project, and how a person comes to each view. Never: what a view must be like.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from playwright.async_api import Page, expect

from tests.driver.browser import WAIT_MS, until_ready
from tests.driver.daemon_process import DaemonProcess
from tests.driver.demo_daemon import Demo
from tests.driver.workspaces import new_workplace


@dataclass(frozen=True)
class Words:
    """What people and agents write: a word, a line, a text in Markdown, the name of a file, code."""

    word: str
    line: str
    text: str
    file: str
    code: str


_WORD = "bakery_basket_" * 20
_LINE = f"The sum of {_WORD} and everything else that one can buy in a small shop is wrong"
LONG = Words(
    word=_WORD,
    line=_LINE,
    text=f"""# {_WORD}

{_LINE} `{_WORD}` [{_WORD}](https://example.com/{_WORD})

```
{_WORD}{_WORD}
```

| {_WORD} | one | two |
|---|---|---|
| three | {_WORD} | four |

- [ ] {_WORD}
- [x] done
""",
    file=f"{_WORD[:180]}.md",
    code=f"len({_WORD})",
)
USUAL = Words(
    word="Mixed dozen",
    line="A mixed dozen gets no discount",
    text="""`Basket.pieces()` counts **kinds** of products, not pieces: twelve rolls are one kind.

```python
def pieces(self) -> int:
    return sum(self._pieces.values())
```

| basket | now | should be |
|---|--:|--:|
| 12 rolls | 5.40 | 4.86 |
| 6 rolls, 6 croissants | 12.30 | 11.07 |
""",
    file="notes.md",
    code="sum(self._pieces.values())",
)


def _conversation(words: Words) -> str:
    return f"""
  - says: Why is there no discount?
    steps:
      - answer:
          - thinking: {json.dumps(words.line)}
          - text: {json.dumps(words.text)}
          - tool_call: {{ name: file.read, arguments: {{ path: {json.dumps(words.word + ".py")} }} }}
          - tool_call:
              name: file.create
              arguments: {{ path: {words.file}, content: {json.dumps(words.text)} }}
          - tool_call: {{ name: file.read, arguments: {{ path: bakery/basket.py }} }}
          - tool_call:
              name: edit.text
              arguments:
                {{ path: bakery/basket.py, old_string: "len(self._pieces)", new_string: "{words.code}" }}
          - tool_call: {{ name: search.grep, arguments: {{ pattern: def, output_mode: content }} }}
          - tool_call:
              name: shell.bash
              arguments: {{ command: "python3 -c 'print(\\"{words.word}\\"); exit(3)'" }}
      - answer: [text: {json.dumps(words.line)}]

  - says: Ask for the list of prices
    steps:
      - answer:
          - tool_call:
              name: kaged.form
              arguments:
                summary: {json.dumps(words.line)}
                fields:
                  - name: shop
                    label: {words.word[:100]}
                    description: {words.word}
                    type: text
                    required: true
                  - {{ name: story, label: Its story, type: textarea }}
                  - {{ name: open, label: Open on Sundays, type: boolean }}
                  - {{ name: prices, label: The list, type: file, required: true }}

  - says: Write it down
    steps:
      - answer:
          - tool_call: {{ name: file.create, arguments: {{ path: {words.file}, content: {words.word} }} }}

  - says: Burn it
    steps:
      - answer: [error: {{ kind: bad_request, message: {json.dumps(words.line)}, status: 400 }}]
"""


KEY = "key "
"""Before the name of a key in `View.steps`."""


@dataclass(frozen=True)
class View:
    """A view: its address, what a person presses there, and what is seen once it is shown."""

    name: str
    address: str
    seen: str
    steps: tuple[str, ...] = ()

    @property
    def is_over(self) -> bool:
        """Whether it lies over the page, and Escape closes it."""
        return self.name in ("share", "palette", "keys", "projects", "folders", "states")


@dataclass(frozen=True)
class Bakery:
    """The addresses of what `fill` has made."""

    project: str
    wide: str
    new: str
    asking: str
    form: str
    failed: str
    worktree: str
    attempt: str
    run: str

    def views(self) -> Iterator[View]:
        project, done = self.project, "#state[data-state=idle]"
        tab = "#details-body .switch >> text="
        yield View("nothing open", "#", ".welcome h2")
        yield View("session", f"#{self.wide}", f"{done}")
        yield View("new session", f"#{self.new}", "#suggestions")
        yield View("question", f"#{self.asking}", ".question button[aria-disabled=false]")
        yield View("form", f"#{self.form}", ".question textarea")
        yield View("failed session", f"#{self.failed}", "#conversation .failure")
        yield View("changes", f"#{self.wide}/changes/bakery/basket.py", "#details .hunk")
        yield View("files", f"#{self.wide}/files", '#details [data-key="bakery"]')
        yield View("file", f"#{self.wide}/files/bakery/basket.py:3", "#details tr.here")
        yield View("session tab", f"#{self.wide}/files", "#details-body > *", ("#tab-session",))
        yield View("git", f"#{self.wide}/changes", "#git-branch", (f"{tab}Commit",))
        plan = "role=button[name='Show what a merge changes']"
        yield View("merge", f"#{self.worktree}/changes", "#details .patch", (f"{tab}Merge", plan))
        yield View("attempts", f"#{self.attempt}/changes", "[aria-label='Attempt 2']", (f"{tab}Attempts",))
        yield View("inbox", "#inbox", ".inbox .question button[aria-disabled=false]")
        for section in ("providers", "models", "appearance", "tokens"):
            yield View(f"settings {section}", f"#settings/{section}", "#view section h2")
        shown = "#view:not([aria-busy]) > *"
        yield View("trust", f"#trust/{project}", shown)
        yield View("issues", f"#issues/{project}", shown)
        yield View("issue", f"#issues/{project}/1", shown)
        yield View("new issue", f"#issues/{project}/new", shown)
        yield View("workflows", f"#workflows/{project}", shown)
        yield View("workflow", f"#workflows/{project}/fix", shown)
        yield View("run", f"#runs/{self.run}", shown)
        yield View("share", f"#{self.wide}", "#share-counts", ("#share",))
        yield View("palette", f"#{self.wide}", "[role=option]", (f"{KEY}Control+k",))
        yield View("keys", f"#{self.wide}", "dialog.sheet", (f"{KEY}?",))
        yield View("states", f"#{self.wide}", "[role=menuitemradio]", ("#session-states",))
        yield View("projects", f"#{self.wide}", "#open-folder", ("#projects-switch",))
        yield View("folders", f"#{self.wide}", ".picker .at", ("#projects-switch", "#open-folder"))
        yield View("reference", "docs", "main summary")
        yield View("sign in", "sign in", "main")


async def fill(demo: Demo, words: Words = LONG) -> Bakery:
    """Write words wherever a person or an agent may write."""
    demo.add_conversation(_conversation(words))
    # What a language server finds comes when it has it.
    with (demo.root / ".kaged" / "project.yaml").open("a") as file:
        file.write("lsp: { diagnostics_after_edit: false }\n")
    demo.make_repository()
    daemon = await demo.start()
    project = daemon.project_id
    async with daemon.client() as client:

        async def post(path: str, body: dict[str, Any]) -> Any:
            answer = await client.post(path, json=body)
            assert answer.is_success, answer.text
            return answer.json()

        async def session(says: str = "", **more: Any) -> str:
            made: str = (await post("/sessions", {"project_id": project, **more}))["id"]
            if says:
                await post(f"/sessions/{made}/messages", {"content": says})
                await waiting(1)
            return made

        async def waiting(more: int) -> None:
            """Wait until so many more things wait for a person: the inbox has them in one order each time."""
            nonlocal count
            count += more
            deadline = time.monotonic() + WAIT_MS / 1000
            while (total := (await client.get("/inbox")).json()["total"]) < count:
                assert time.monotonic() < deadline, f"{total} of {count}"
                await asyncio.sleep(0.05)

        count = 0

        issues = f"/projects/{project}/issues"
        await post(issues, {"title": words.line[:200], "body": words.text})
        await post(issues, {"title": words.word[:200], "body": words.text})
        await post(f"{issues}/1/todos", {"content": words.word[:200], "kind": "criterion"})
        await post(f"{issues}/1/todos", {"content": words.line[:200], "kind": "step"})
        await post(f"{issues}/1/comments", {"body": words.text})
        await post(f"{issues}/1/links", {"target": 2, "kind": "blocks"})
        asking = await session()
        rule = {"permission": "file.create", "pattern": "**", "action": "ask"}
        await post(f"/sessions/{asking}/permissions", rule)
        await post(f"/sessions/{asking}/messages", {"content": "Write it down"})
        await waiting(1)
        run = await post(f"/projects/{project}/workflows/fix/invoke", {"inputs": {}, "issue_number": 1})
        await waiting(1)
        group = await post(
            f"/projects/{project}/attempts", {"content": "Fix the failing test", "attempts": {"n": 2}}
        )
        await waiting(2)
        client.base_url = daemon.url
        place = await new_workplace(client, project, title=words.word[:100])
        (place.root / words.file).write_text(f"{words.word}\n")
        client.base_url = f"{daemon.url}/api/v1"
        await post(f"/sessions/{place.session_id}/messages", {"content": "hello"})
        await waiting(1)
        return Bakery(
            project=project,
            wide=await session("Why is there no discount?", title=words.word[:100], issue_number=2),
            new=await session(),
            asking=asking,
            form=await session("Ask for the list of prices"),
            failed=await session("Burn it"),
            worktree=place.session_id,
            attempt=group["attempts"][0]["session_id"],
            run=run["id"],
        )


async def open_view(page: Page, daemon: DaemonProcess, view: View) -> None:
    """Come to a view as a person does, and wait until all of it is there."""
    if view.name == "reference":
        await page.goto(f"{daemon.url}/docs")
    elif view.name == "sign in":
        await page.context.clear_cookies()
        await page.goto(daemon.url)
    else:
        await page.goto(f"{daemon.url}/{view.address}")
        await until_ready(page, "#projects")
    for step in view.steps:
        if step.startswith(KEY):
            # A session that is being opened puts the focus into the message field at its end.
            await expect(page.locator("[aria-busy=true]")).to_have_count(0)
            await page.evaluate("document.activeElement?.blur()")
            await page.keyboard.press(step.removeprefix(KEY))
            continue
        if step.startswith(("#session-states", "#projects-switch")) and not await page.is_visible(step):
            await page.click("#open-sidebar")
        await page.click(step)
    await expect(page.locator(view.seen).first).to_be_visible()
    await expect(page.locator("[aria-busy=true]")).to_have_count(0)


async def leave_view(page: Page, view: View) -> None:
    """Close what lies over the page."""
    if view.is_over:
        await page.keyboard.press("Escape")
        await expect(page.locator(view.seen)).to_have_count(0)
    if await page.locator("#shade").is_visible():
        await page.keyboard.press("Escape")
        await expect(page.locator("#shade")).to_be_hidden()
