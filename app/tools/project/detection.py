"""Which runners a directory has, and the tasks that can be asked of them.

Owns: the choice of runners and the order of their tasks. Never: running anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from app.tools.project import justfile, makefile, manifests, taskfile
from app.tools.project.folder import ProjectFolder
from app.tools.project.runners import (
    BY_NAME,
    JUSTFILES,
    MAKEFILES,
    NODE_LOCKS,
    PYTHON_LOCKS,
    RUNNERS,
    TASKFILES,
    Runner,
)

MAX_TASK_NAME = 100
MAX_TASKS = 200
MAX_TASKFILE_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class Task:
    """`words` run it, its arguments aside."""

    runner: Runner
    name: str
    words: tuple[str, ...]

    @property
    def qualified(self) -> str:
        return f"{self.runner.name}:{self.name}"


@dataclass(frozen=True, slots=True)
class Detected:
    """The runners found, in order, and their tasks: the one that a plain name means first. A declared task
    goes before a built-in one of the same name."""

    runners: tuple[Runner, ...]
    tasks: tuple[Task, ...]
    notes: tuple[str, ...]

    def find(self, name: str) -> Task | None:
        """Return the task that `name` or `runner:name` means."""
        plain = next((task for task in self.tasks if task.name == name), None)
        return plain or next((task for task in self.tasks if task.qualified == name), None)

    def names(self) -> list[str]:
        """Return what may be asked: a task's name, or `runner:name` where that means another."""
        listed: dict[str, None] = {}
        for task in self.tasks[:MAX_TASKS]:
            listed[task.qualified if task.name in listed else task.name] = None
        return list(listed)


def detect(folder: ProjectFolder) -> Detected:
    """Look at the directory's files. Blocks; runs nothing."""
    found: dict[str, Mapping[str, tuple[str, ...]]] = {}
    for name, declared in (*_node(folder), *_cargo(folder), *_python(folder), *_generic(folder)):
        found[name] = declared
    runners = tuple(runner for runner in RUNNERS if runner.name in found)
    tasks = [task for runner in runners for task in _tasks(runner, found[runner.name])]
    for runner in runners:
        taken = found[runner.name]
        own = {name: words for name, words in runner.builtin.items() if name not in taken}
        tasks += _tasks(runner, own)
    notes = list(folder.notes)
    if len(tasks) > MAX_TASKS:
        notes.append(f"{len(tasks) - MAX_TASKS} more tasks are not listed")
    return Detected(runners, tuple(tasks), tuple(notes))


Declared = tuple[str, Mapping[str, tuple[str, ...]]]
"""A runner's name, and its declared tasks with the words that run each."""


def _tasks(runner: Runner, declared: Mapping[str, tuple[str, ...]]) -> Iterator[Task]:
    for name, words in declared.items():
        if name and len(name) <= MAX_TASK_NAME and name.isprintable() and not name.startswith("-"):
            yield Task(runner, name, words)


def _run(runner: str, names: Iterable[str]) -> Declared:
    return runner, {name: (*BY_NAME[runner].run, name) for name in names}


def _node(folder: ProjectFolder) -> Iterator[Declared]:
    text = folder.text("package.json")
    package = None if text is None else manifests.package(text)
    if text is not None and package is None:
        folder.notes.append("package.json is not valid JSON")
    if package is not None:
        locks = dict(NODE_LOCKS)
        lock = folder.nearest(tuple(locks))
        manager = package.manager or (locks[lock] if lock is not None else "npm")
        yield _run(manager, package.scripts)


def _cargo(folder: ProjectFolder) -> Iterator[Declared]:
    if folder.first(["Cargo.toml"]) is not None:
        config = folder.nested_text(".cargo", "config.toml")
        yield _run("cargo", [] if config is None else manifests.cargo_aliases(config))


def _python(folder: ProjectFolder) -> Iterator[Declared]:
    text = folder.text("pyproject.toml")
    project = None if text is None else manifests.python_project(text)
    if text is not None and project is None:
        folder.notes.append("pyproject.toml is not valid TOML")
    if project is None:
        return
    runner = _python_runner(folder, project)
    if runner is None:
        return
    run = BY_NAME[runner].run
    declared = {name: (*run, *words) for name, words in project.commands.items()}
    if project.uses_pytest or folder.first(["pytest.ini"]) is not None:
        declared.setdefault("test", (*run, "pytest"))
    yield runner, declared


def _python_runner(folder: ProjectFolder, project: manifests.PythonProject) -> str | None:
    """The lock file beside it decides, then what it configures, then a lock file above."""
    locks = dict(PYTHON_LOCKS)
    beside = folder.first(locks)
    if beside is not None:
        return locks[beside]
    for name in ("poetry", "pdm", "uv"):
        if name in project.tools:
            return name
    above = folder.nearest(tuple(locks))
    return None if above is None else locks[above]


def _generic(folder: ProjectFolder) -> Iterator[Declared]:
    if (name := folder.first(MAKEFILES)) and (text := folder.text(name)) is not None:
        yield _run("make", makefile.targets(text))
    if (name := folder.first(JUSTFILES)) and (text := folder.text(name)) is not None:
        yield _run("just", justfile.recipes(text))
    if (name := folder.first(TASKFILES)) and (text := folder.text(name, MAX_TASKFILE_BYTES)) is not None:
        yield _run("task", taskfile.tasks(text))
