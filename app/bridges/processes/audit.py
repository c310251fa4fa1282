"""What bridges hand their audit events to.

Owns: the shape of it. Never: keeping an event, or what one says.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Record = Callable[[str, str, dict[str, Any]], None]
"""Takes an audit event's name, the project's id and the data. Must not raise."""
Emit = Callable[[str, dict[str, Any]], None]
"""As `Record`, where the project is known."""
