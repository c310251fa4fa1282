"""The single path-containment check: every path that anyone gives the daemon goes through here."""

from app.workspace.bounds import Policy
from app.workspace.descriptors import read_beginning
from app.workspace.entry import Entry
from app.workspace.paths import (
    Access,
    Location,
    below,
    folded,
    invalid_path,
    locate,
    may_read_scratch,
    scratch_of,
)
from app.workspace.root import RootFolder
from app.workspace.target import MAX_WHOLE_FILE, Staged, Target, changed_since_read
from app.workspace.workspace import LEADS_OUT, Opened, Workspace

__all__ = [
    "LEADS_OUT",
    "MAX_WHOLE_FILE",
    "Access",
    "Entry",
    "Location",
    "Opened",
    "Policy",
    "RootFolder",
    "Staged",
    "Target",
    "Workspace",
    "below",
    "changed_since_read",
    "folded",
    "invalid_path",
    "locate",
    "may_read_scratch",
    "read_beginning",
    "scratch_of",
]
