"""The words for how a file differs: one vocabulary for changes, merges, git's status and lists of files.

Owns: the words. Never: finding out which of them holds.
"""

from __future__ import annotations

from typing import Literal

FileStatus = Literal["added", "modified", "deleted", "renamed"]
"""What git says of a file in its index or working tree: a changed mode is `modified`."""
ChangeStatus = Literal[FileStatus, "mode"]
"""What a comparison of contents says. `mode`: only the executable bit differs."""
MergeStatus = Literal["added", "modified", "deleted", "mode"]
"""What a merge does to a path; a renamed file is a deleted and an added one."""
EntryStatus = Literal[FileStatus, "conflicted", "untracked"]
"""The one word for a file in a list."""
