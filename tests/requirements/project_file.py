"""The project file and the prompts."""

from __future__ import annotations

PROJECT_FILE: dict[str, str] = {
    "project_file.schema": (
        "the whole schema is parsed strictly; unknown, duplicate and removed keys are named"
    ),
    "project_file.diagnostics": (
        "every diagnostic has file, line and column, and all come at once (ten mistakes, ten findings)"
    ),
    "project_file.agents": "one recursive AgentSpec for agents at every depth",
    "project_file.overlay": "overlay: local file and injected overrides merge, lists replace, null removes",
    "project_file.references": (
        "references are flattened; cycles, diamonds, depth and missing files are handled"
    ),
    "project_file.tools": "tools are resolved for each agent with where each state came from",
    "project_file.synthesized": "the synthesized endpoint shows every default and every tool",
    "project_file.json_schema": "a JSON Schema of the project file is generated",
    "project_file.reload": (
        "hot reload of project and prompts; a file that no longer compiles leaves the last good one"
    ),
    "project_file.commands": "kaged init writes a starter that compiles; kaged check prints diagnostics",
    "project_file.sections": (
        "sections of later subsystems (lsp, dap, plugins, workflows, compaction) are validated"
    ),
    "prompts.order": "system prompts are put together in the fixed order, the same from turn to turn",
    "prompts.cache": "cache markers for providers that need them",
    "prompts.shown": "what was really sent is shown by agent, with a digest on each answer",
}
