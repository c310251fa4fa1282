"""How the daemon's process keeps its memory.

Owns: the settings of the garbage collector and of the C allocator, made once, at start. Never: what is
stored where.
"""

from __future__ import annotations

import ctypes
import gc

_M_TRIM_THRESHOLD = -1
_M_MMAP_THRESHOLD = -3
_KEPT_BYTES = 32 * 1024 * 1024
_YOUNG_OBJECTS = 10_000


def keep_freed_pages() -> None:
    """Let the C allocator keep up to 32 MiB that were freed, where it is glibc's.

    A long conversation builds a body of half a megabyte for every model call. By default those pages
    go back to the kernel each time and are faulted in again for the next call."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_TRIM_THRESHOLD, _KEPT_BYTES)
        mallopt(_M_MMAP_THRESHOLD, _KEPT_BYTES)


def load_undisturbed() -> None:
    """Collect no garbage until `freeze_loaded`: nearly all that loading makes stays, and walking it again
    and again takes a sixth of the time."""
    gc.disable()


def freeze_loaded() -> None:
    """Take what is loaded now out of garbage collections: it stays, and need not be walked again. It is not
    collected before: that walks it once, finds little, and touches every page of it.

    Afterwards they come less often: one answer of a language server or a model is thousands of objects,
    all of them alive, and was walked a dozen times while it was parsed."""
    gc.freeze()
    gc.enable()
    gc.set_threshold(_YOUNG_OBJECTS, *gc.get_threshold()[1:])
