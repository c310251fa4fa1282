"""A reader of docs/recipes.md, with a daemon at the page's address.

Owns: the page's blocks, and what a reader has when a recipe begins. Never: what a recipe is about.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.driver.daemon_process import REPOSITORY
from tests.driver.kaged import DaemonProcess
from tests.e2e.interop_reader import PORT, Reader, blocks

PAGE = REPOSITORY / "docs" / "recipes.md"
MODEL = "anthropic:claude-sonnet-4-5"


def written(recipe: str, language: str = "sh") -> list[str]:
    """Return the blocks of a recipe."""
    return blocks(recipe, language, PAGE)


@dataclass
class Kitchen:
    """A reader and the daemon that runs beside the commands."""

    reader: Reader
    daemon: DaemonProcess

    async def cook(self, script: str) -> str:
        """Paste commands in the project's folder; return what they printed."""
        return await self.reader.paste(self.at_home(script), cwd=self.reader.project)

    def at_home(self, text: str) -> str:
        """Return a text with the address of the daemon in place of the default one."""
        return text.replace(PORT, self.daemon.ready["url"].removeprefix("http://"))

    def files(self, recipe: str, *names: str, language: str = "markdown") -> None:
        """Write the files that a recipe shows, in their order."""
        for name, text in zip(names, written(recipe, language), strict=True):
            (self.reader.project / name).parent.mkdir(parents=True, exist_ok=True)
            (self.reader.project / name).write_text(text)


def prepare(reader: Reader) -> None:
    """Give a reader the alias, the price and the default data folder that the recipes speak of."""
    settings = reader.config.read_text()
    reader.config.write_text(
        f'[models]\nsmart = "{MODEL}"\n\n[prices."{MODEL}"]\ninput = 3\noutput = 15\n\n{settings}'
    )
    shared = reader.folder / ".local" / "share"
    shared.mkdir(parents=True)
    (shared / "kaged").symlink_to(reader.data_dir)
