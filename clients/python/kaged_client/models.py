"""Bodies and answers of the interface."""

from kaged_client._generated.models import *  # noqa: F403
