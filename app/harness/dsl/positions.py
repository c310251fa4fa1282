"""Where in a project's files a compiled value was written.

Owns: the way from an agent's path and steps below it to a file and line. Never: keeping nodes longer than a
compilation, or what is looked up.
"""

from __future__ import annotations

from dataclasses import dataclass

from app.harness.dsl.document import Node, Position
from app.harness.dsl.references import AgentNode
from app.ids import ROOT_AGENT, SUBAGENTS

_RULES = "permissions"


@dataclass(frozen=True, slots=True)
class Positions:
    """The nodes of one compilation: the document, and each agent of the flattened tree by its path."""

    document: Node
    agents: dict[str, Node]

    @classmethod
    def of(cls, document: Node, tree: AgentNode) -> Positions:
        found: dict[str, Node] = {}
        waiting = [(ROOT_AGENT, tree)]
        while waiting:
            path, agent = waiting.pop()
            found[path] = agent.node
            waiting += [(f"{path}{SUBAGENTS}{child.key}", child) for child in agent.children]
        return cls(document, found)

    def find(self, holder: str, steps: tuple[str | int, ...]) -> tuple[str, int]:
        """Return the file and line of the last step that is written down."""
        node = self.agents.get(holder, self.document) if holder else self.document
        if steps[:1] == (_RULES,):
            return _shown(_rule(node, steps[1:]))
        position = node.key
        for step in steps:
            child = node.step(step)
            if child is None and step == "tools":
                child = node.step("tool_overrides")
            if child is None:
                break
            node, position = child, child.key
        return _shown(position)


def _rule(node: Node, about: tuple[str | int, ...]) -> Position:
    """A rule is known by what it is about: rules of a nested project come before an agent's own."""
    rules = node.get(_RULES)
    for rule in node.list_at(_RULES):
        written = [named.text if (named := rule.get(name)) else None for name in ("permission", "pattern")]
        if tuple(written) == about:
            return rule.position
    return rules.key if rules is not None else node.key


def _shown(position: Position) -> tuple[str, int]:
    return position.source.display, position.line
