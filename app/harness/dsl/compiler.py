"""Compiling a project: from the folder to a `CompiledProject` and every diagnostic at once.

Owns: the order of the steps, the sections beside the agents, the entry points. Never: keeping a compiled
project (`harness/projects`). Blocks on files: on an event loop use `compile_in_thread`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import orjson
import xxhash

from app.errors import ProjectFileInvalid
from app.harness.dsl.acts import ActReader
from app.harness.dsl.agents import AgentCompiler
from app.harness.dsl.compiled import CompiledAgent, CompiledProject, CompiledWorkflow
from app.harness.dsl.diagnostics import Diagnostic, DiagnosticBag, format_diagnostics
from app.harness.dsl.document import Node, Position, SourceFile
from app.harness.dsl.hooks import compile_hooks
from app.harness.dsl.loader import ProjectLoader, parse_document
from app.harness.dsl.named_files import NamedFiles, warn_of_what_is_open
from app.harness.dsl.paths import CONFIG_FOLDER, PROJECT_FILE, display_path
from app.harness.dsl.permissions import compile_permissions, warn_of_idle_rules
from app.harness.dsl.plugins import PluginCatalog
from app.harness.dsl.positions import Positions
from app.harness.dsl.prompt_files import PromptFiles
from app.harness.dsl.references import Flattener, lift_project_keys
from app.harness.dsl.sections import WorkflowCompiler, check_sections, compile_servers
from app.harness.dsl.spec import ProjectSpec
from app.harness.dsl.spec_mcp import McpServerSpec
from app.harness.dsl.tool_resolution import ToolCatalog, ToolResolver
from app.programs import installed_below


@dataclass(frozen=True, slots=True)
class CompileResult:
    """What a compilation gave: `project` is None when there is an error among the diagnostics."""

    project: CompiledProject | None
    diagnostics: tuple[Diagnostic, ...]
    sources: Mapping[str, str]
    """Text of every file read, by the name that diagnostics use."""
    watch_files: tuple[str, ...] = ()
    """Absolute paths of everything that was looked at: a change of any may mend what did not compile."""
    reader: ActReader | None = None
    """Reads what the project would do, with the positions; None without a project."""
    read_at: int = 0
    """When reading began, in nanoseconds since the epoch: what is written later may not be in it."""

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        return tuple(d for d in self.diagnostics if d.severity == "error")

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        return tuple(d for d in self.diagnostics if d.severity == "warning")

    def format(self, *, prefix: str = "") -> str:
        """The diagnostics as a compiler prints them."""
        return format_diagnostics(self.diagnostics, self.sources, prefix=prefix)

    def require(self) -> CompiledProject:
        """Return the project; raise ProjectFileInvalid with every diagnostic when there is none."""
        if self.project is not None:
            return self.project
        first = self.errors[0]
        raise ProjectFileInvalid(
            f"{first.file}:{first.line}:{first.column}: {first.message}",
            details={"diagnostics": [diagnostic.model_dump() for diagnostic in self.diagnostics]},
        )


def compile_project(
    root: Path,
    *,
    catalog: ToolCatalog,
    known_models: Collection[str] | None = None,
    plugins: PluginCatalog | None = None,
    cautious: bool = False,
) -> CompileResult:
    """Compile the project in a folder. Never raises for anything the folder may contain; blocks on file I/O.

    `known_models` are the aliases of the local config; None leaves aliases unchecked, and so it is with the
    manifests of `plugins`. When `cautious`, a sound project has warnings about what it opens as well.
    """
    bag = DiagnosticBag()
    try:
        root = root.resolve()
        loader = ProjectLoader(root, bag)
        document = loader.load(root)
    except (OSError, ValueError, RuntimeError) as error:  # no such path, a NUL in it, a loop of links
        source = SourceFile(root, f"{CONFIG_FOLDER}/{PROJECT_FILE}", root)
        bag.error("project_missing", f"cannot open the project's folder: {error}", Position(source, 1, 1, ()))
        return CompileResult(None, bag.sorted(), {})
    project = None
    prompts = PromptFiles(bag)
    if document.node is not None:
        compilation = _Compilation(
            root,
            loader,
            bag,
            prompts,
            ToolResolver(catalog, _servers(document.node, plugins)),
            known_models,
            plugins=plugins,
            cautious=cautious,
        )
        project = compilation.run(document.node)
    watched = (*loader.files, *prompts.watched)
    if bag.has_errors or project is None:
        return CompileResult(None, bag.sorted(), loader.texts, watched)
    reader = ActReader(project.compiled, project.positions.find, prompts.digests)
    return CompileResult(project.compiled, bag.sorted(), loader.texts, watched, reader)


async def compile_in_thread(
    root: Path,
    *,
    catalog: ToolCatalog,
    known_models: Collection[str] | None = None,
    plugins: PluginCatalog | None = None,
) -> CompileResult:
    """`compile_project` in a worker thread."""
    read_at = time.time_ns()
    result = await asyncio.to_thread(
        compile_project, root, catalog=catalog, known_models=known_models, plugins=plugins
    )
    return replace(result, read_at=read_at)


def check_text(
    text: bytes,
    *,
    catalog: ToolCatalog,
    known_models: Collection[str] | None = None,
    root: Path | None = None,
) -> tuple[Diagnostic, ...]:
    """Diagnostics of a text as the project file of `root`, whatever stands there now; blocks on file I/O.

    Without a root no file is looked at: what prompts are called is checked alone, and a reference to another
    project is an error (`reference_unchecked`), because what it would bring is not known."""
    bag = DiagnosticBag()
    folder = root.resolve() if root is not None else Path("/")
    file = folder / CONFIG_FOLDER / PROJECT_FILE
    source = SourceFile(file, f"{CONFIG_FOLDER}/{PROJECT_FILE}", folder)
    loader = ProjectLoader(folder, bag)
    node = loader.check_map(parse_document(text, source, bag, required=True))
    if node is not None and root is not None:
        node = loader.with_local(node, folder)
    if node is not None:
        prompts = PromptFiles(bag, check=root is not None)
        resolver = ToolResolver(catalog, _servers(node, None))
        follow = root is not None
        _Compilation(folder, loader, bag, prompts, resolver, known_models, follow=follow).run(node)
    return bag.sorted()


@dataclass(frozen=True, slots=True)
class _Compiled:
    compiled: CompiledProject
    positions: Positions


@dataclass(frozen=True, slots=True)
class _Compilation:
    root: Path
    loader: ProjectLoader
    bag: DiagnosticBag
    prompts: PromptFiles
    resolver: ToolResolver
    known_models: Collection[str] | None
    follow: bool = True
    plugins: PluginCatalog | None = None
    cautious: bool = False
    named: NamedFiles = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "named", NamedFiles(self.root, look=self.follow))

    def run(self, document: Node) -> _Compiled | None:
        checked = check_sections(document, self.bag)
        warn_of_idle_rules(document, self.resolver, self.bag)
        self._warn_of_installation(document)
        primary = document.get("primary")
        if primary is None:
            return None
        primary = lift_project_keys(primary, document, self.bag)
        flattener = Flattener(self.loader, self.bag, self._check_nested, follow=self.follow)
        tree = flattener.flatten(primary, self.root)
        agents = AgentCompiler(
            self.root, self.bag, self.resolver, self.prompts, self.known_models, self.plugins
        )
        root_agent = agents.compile(tree)
        if checked is None or root_agent is None:
            return None
        compiler = WorkflowCompiler(self.bag, self.resolver, self.prompts)
        workflows = compiler.compile(checked.model.workflows, document.get("workflows"), root_agent)
        servers = compile_servers(checked.model.mcp, document.get("mcp"), self.root, self.bag)
        hooks = compile_hooks(checked.model.hooks, document.get("hooks"), self.root, self.bag)
        if self.bag.has_errors:
            return None
        self.named.of_document(document)
        self.named.of_prompts(self.prompts.watched.items())
        spec = checked.model.model_copy(update={"hooks": hooks})
        project = self._project(spec, document, root_agent, workflows, servers)
        if self.cautious:
            warn_of_what_is_open(project, primary, self.named, self.bag)
        return _Compiled(project, Positions.of(document, tree))

    def _warn_of_installation(self, document: Node) -> None:
        """What the daemon runs from must not be written by an agent; a project is a poor place for it."""
        below = installed_below(self.root) if self.follow else ()
        names = [display_path(one, self.root) for one in below]
        outer = [name for name in names if not any(name.startswith(f"{other}/") for other in names)]
        if outer:
            self.bag.warning(
                "installation_in_project",
                f"kaged itself is installed in this project ({', '.join(outer)}): that is read-only in every "
                "cage, and an agent without a cage can change the daemon; install kaged outside of projects",
                document.position,
            )

    def _check_nested(self, document: Node) -> None:
        check_sections(document, self.bag)
        warn_of_idle_rules(document, self.resolver, self.bag)
        self.named.of_document(document)

    def _project(
        self,
        spec: ProjectSpec,
        document: Node,
        root_agent: CompiledAgent,
        workflows: dict[str, CompiledWorkflow],
        servers: dict[str, McpServerSpec],
    ) -> CompiledProject:
        project = CompiledProject(
            slug=spec.project,
            description=spec.description,
            root_dir=str(self.root),
            root=root_agent,
            workflows=workflows,
            tasks=spec.tasks,
            lsp=spec.lsp,
            dap=spec.dap,
            limits=spec.limits,
            permissions=compile_permissions(document.get("permissions"), pinned=False),
            skills=spec.skills,
            workspace=spec.workspace,
            hooks=spec.hooks,
            prompt_files=tuple(self.prompts.watched),
            source_files=tuple(self.loader.files),
            guarded_files=self.named.paths(),
            mcp=servers,
            digest="",
        )
        return project.model_copy(update={"digest": project_digest(project)})


def _servers(document: Node, plugins: PluginCatalog | None) -> tuple[str, ...]:
    """Return the names of the MCP servers that agents may use."""
    return (*document.map_at("mcp"), *(plugins.mcp_servers() if plugins is not None else ()))


_OF_THE_MACHINE = {"root_dir", "prompt_files", "source_files", "guarded_files", "digest"}


def relative_dump(project: CompiledProject) -> dict[str, Any]:
    """The project as plain values, prompt files relative to its root, without what depends on the machine."""
    root = Path(project.root_dir)
    plain = project.model_dump(mode="json", exclude=_OF_THE_MACHINE)
    _relate_agent(plain["root"], root)
    for workflow in plain["workflows"].values():
        del workflow["system_prompt_candidates"]
        workflow["system_prompt_file"] = display_path(Path(workflow["system_prompt_file"]), root)
    return plain


def _relate_agent(agent: dict[str, Any], root: Path) -> None:
    del agent["system_prompt_candidates"]
    agent["system_prompt_file"] = display_path(Path(agent["system_prompt_file"]), root)
    summarize = agent["compaction"]["summarize"]
    if summarize is not None:
        summarize["prompt_file"] = display_path(Path(summarize["prompt_file"]), root)
    for child in agent["children"].values():
        _relate_agent(child, root)


def project_digest(project: CompiledProject) -> str:
    """A digest of the whole compiled project; copies in two folders differ, as do their prompt files."""
    return _digest_of(project.model_dump(mode="json", exclude={"digest"}))


def stored_digest(content: bytes) -> str | None:
    """The digest of a compiled project as any release stored it (its JSON); None when it is none."""
    try:
        plain = orjson.loads(content)
        del plain["digest"]
    except (ValueError, KeyError, TypeError):
        return None
    return _digest_of(plain)


def _digest_of(plain: dict[str, Any]) -> str:
    return xxhash.xxh3_128_hexdigest(orjson.dumps(plain, option=orjson.OPT_SORT_KEYS))
