"""Compaction settings of an agent, filled up from its parent's.

Owns: the inheritance and the checks that need the agent's plugins, files and the known models.
Never: compacting anything.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from app.harness.dsl.compiled import CompiledCompaction, CompiledSummarize
from app.harness.dsl.diagnostics import DiagnosticBag
from app.harness.dsl.document import Node
from app.harness.dsl.overlay import merge
from app.harness.dsl.prompt_files import PromptFiles
from app.harness.dsl.spec import CompactionSpec
from app.harness.dsl.validation import validate


class _Compiler(Protocol):
    @property
    def bag(self) -> DiagnosticBag: ...

    @property
    def prompts(self) -> PromptFiles: ...

    def check_model(self, model: str, node: Node | None) -> None: ...


def compile_compaction(
    own: Node | None, inherited: Node | None, plugins: Collection[str], compiler: _Compiler
) -> tuple[Node | None, CompiledCompaction]:
    """Return the effective settings as written (to hand to the children) and compiled."""
    node = inherited if own is None else merge(inherited, own)
    if node is None:
        return None, CompiledCompaction()
    checked = validate(CompactionSpec, node, compiler.bag)
    if checked is None:
        return node if node.is_map else inherited, CompiledCompaction()
    spec = checked.model
    strategy = spec.strategy
    delegate = spec.delegate.plugin if spec.delegate is not None else None
    if delegate is not None and delegate not in plugins:
        named = own.get("delegate") if own is not None else None
        if named is not None:
            position = (named.get("plugin") or named).position
            compiler.bag.error("plugin_unknown", f"this agent has no plugin `{delegate}`", position)
        delegate = None
        strategy = "drop" if strategy == "delegate" else strategy
    return node, CompiledCompaction(
        strategy=strategy,
        upper=spec.upper,
        lower=spec.lower,
        always_keep=tuple(spec.always_keep),
        prune=spec.prune,
        summarize=_summarize(spec, node, compiler),
        delegate=delegate,
        checkpoint_fallback=spec.checkpoint.fallback,
    )


def _summarize(spec: CompactionSpec, node: Node, compiler: _Compiler) -> CompiledSummarize | None:
    written = node.get("summarize")
    if spec.summarize is None or written is None:
        return None
    compiler.check_model(spec.summarize.model, written.get("model"))
    prompt_file = compiler.prompts.resolve(written.get("prompt")).file
    return CompiledSummarize(model=spec.summarize.model, prompt_file=prompt_file)
