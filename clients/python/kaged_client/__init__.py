"""The Python client of kaged: typed, synchronous (`Kaged`) and asynchronous (`AsyncKaged`)."""

from kaged_client import errors, events, models
from kaged_client._async_stream import AsyncEventStream
from kaged_client._generated.events import Event
from kaged_client._model import OMIT, Omit
from kaged_client._pages import AsyncItems, Items, Page
from kaged_client._progress import RunResult
from kaged_client._stream import EventStream
from kaged_client._version import __version__
from kaged_client.async_client import AsyncKaged
from kaged_client.async_session import AsyncRunStream, AsyncSession
from kaged_client.client import Kaged
from kaged_client.errors import ApiError, KagedError
from kaged_client.questions import Answer, Question
from kaged_client.session import RunStream, Session

__all__ = [
    "OMIT",
    "Answer",
    "ApiError",
    "AsyncEventStream",
    "AsyncItems",
    "AsyncKaged",
    "AsyncRunStream",
    "AsyncSession",
    "Event",
    "EventStream",
    "Items",
    "Kaged",
    "KagedError",
    "Omit",
    "Page",
    "Question",
    "RunResult",
    "RunStream",
    "Session",
    "__version__",
    "errors",
    "events",
    "models",
]
