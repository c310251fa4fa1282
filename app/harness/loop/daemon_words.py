"""What the daemon tells an agent during a run: what comes late about its edits, new instruction files, hooks.

Owns: putting it at the end of the conversation. Never: what it says.
"""

from __future__ import annotations

from app.harness.conversation.session_rows import daemon_message, placed_in, posted_event, put_all
from app.harness.run.run_context import RunContext
from app.storage.models import MessageDetails


def add_message(run: RunContext, content: str, details: MessageDetails) -> None:
    """Put a message of the daemon at the end of the conversation, where the model reads it with its next
    call. A run that ends before leaves it to the next one."""
    scope = run.scope
    made = daemon_message(scope.session_id, scope.agent_path, content, details)
    row = placed_in(run.history, made, scope.run_id)
    run.journal.record(posted_event(row, queued=False), statements=put_all([row]), kept=True)
    run.history.add_user(row)
