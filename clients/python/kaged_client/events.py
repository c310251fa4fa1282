"""Events of sessions: `Event` is their union, told apart by `type` or by class."""

from kaged_client._event import BaseEvent, UnknownEvent
from kaged_client._generated.events import *  # noqa: F403

__all__ = ["BaseEvent", "UnknownEvent"]
