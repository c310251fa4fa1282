"""Links in the project that lead out of it, or past what the cage denies."""

from __future__ import annotations

from tests.attacks.case import Case, reading, refused, tool, worked
from tests.attacks.place import NEIGHBOUR
from tests.attacks.scene import Scene, unique

AREA = "symlinks"

READS = {
    "to-a-file-outside": "src/to_secret",
    "through-a-folder-outside": "src/to_outside/secret.txt",
    "listing-a-folder-outside": "src/to_outside",
    "through-the-parent": "src/up/secret/key.txt",
    "through-two-parents": "src/up/../outside/secret.txt",
    "to-what-is-not-granted": "src/to_ungranted",
    "to-what-is-denied": "src/to_private",
    "to-the-system": "src/to_etc",
    "to-the-environment": "src/to_proc",
    "through-a-magic-link": "src/to_root/etc/passwd",
    "to-the-data-folder": "src/to_data/kept/secret.txt",
    "in-a-circle": "src/circle",
    "to-repository-internals": "src/to_git",
}

WRITES = {
    "write-through-a-dangling-link": "src/to_new",
    "write-into-a-folder-outside": "src/to_outside/made.txt",
    "write-into-the-parent": "src/up/docs/made.txt",
    "write-into-what-is-denied": "src/up/src/private/made.txt",
    "write-into-the-data-folder": "src/to_data/made.txt",
    "write-through-a-magic-link": "src/to_root/var/tmp/made.txt",
}


def _creating(name: str, path: str) -> Case:
    return tool(
        AREA,
        name,
        "writer",
        "file.create",
        {"path": path, "content": "x"},
        {"path": f"src/linked/{name}.txt", "content": "x"},
    )


def _edit(path: str) -> dict[str, str]:
    return {"path": path, "old_string": "second", "new_string": "2nd"}


def _edit_through(name: str, path: str) -> Case:
    """An edit through a link, beside one through a link to a granted file."""

    def attack(scene: Scene) -> None:
        refused(scene.call("writer", "edit.text", _edit(path)))

    def control(scene: Scene) -> None:
        fresh = scene.place.project / "src" / unique("linked")
        fresh.write_text("first second\n")
        link = fresh.with_name(unique("link"))
        link.symlink_to(fresh.name)
        worked(scene.call("writer", "file.read", {"path": f"src/{link.name}"}), "second")
        worked(scene.call("writer", "edit.text", _edit(f"src/{link.name}")))
        assert fresh.read_text() == "first 2nd\n"

    return Case(AREA, name, attack, control)


def _hard_link() -> Case:
    """A file that has a second name outside: an edit must not reach it under that name."""

    def attack(scene: Scene) -> None:
        scene.call("writer", "file.read", {"path": "src/hard.txt"})
        change = {"path": "src/hard.txt", "old_string": "two names", "new_string": "one name"}
        scene.call("writer", "edit.text", change)
        scene.call("writer", "file.write", {"path": "src/hard.txt", "content": "changed"})

    def control(scene: Scene) -> None:
        worked(scene.call("writer", "file.read", {"path": "src/sub/b.txt"}), NEIGHBOUR)
        worked(scene.call("writer", "file.write", {"path": "src/sub/b.txt", "content": NEIGHBOUR + "\n"}))

    return Case(AREA, "write-to-a-second-name", attack, control)


def _search_follows(name: str, path: str) -> Case:
    return tool(
        AREA,
        name,
        "reader",
        "search.grep",
        {"pattern": ".", "path": path, "output_mode": "content"},
        {"pattern": "neighbour", "path": "src", "output_mode": "content"},
        shows=NEIGHBOUR,
    )


CASES: tuple[Case, ...] = (
    *(reading(AREA, name, path) for name, path in READS.items()),
    *(_creating(name, path) for name, path in WRITES.items()),
    _edit_through("edit-a-file-outside", "src/to_secret"),
    _edit_through("edit-what-is-denied", "src/to_private"),
    _edit_through("edit-repository-settings", "src/to_git"),
    _hard_link(),
    _search_follows("search-a-folder-outside", "src/to_outside"),
    _search_follows("search-a-file-outside", "src/to_secret"),
    tool(
        AREA,
        "glob-through-a-link",
        "reader",
        "search.glob",
        {"pattern": "to_outside/*", "path": "src"},
        {"pattern": "sub/*", "path": "src"},
        shows="b.txt",
        codes=None,
    ),
)
