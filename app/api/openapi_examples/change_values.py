"""The values in the examples of the OpenAPI document that belong to changes of a session and their hunks.

Owns: these values. Never: the shape of an example (`compose`).
"""

from __future__ import annotations

from typing import Any

FIELDS_OF_CHANGES: dict[str, Any] = {
    "ChangeAnswer.additions": 1,
    "ChangeAnswer.deletions": 1,
    "ChangeAnswer.new_mode": "100644",
    "ChangeAnswer.note": None,
    "ChangeAnswer.old_mode": "100644",
    "ChangeAnswer.old_path": None,
    "ChangeAnswer.path": "bakery/basket.py",
    "ChangeAnswer.status": "modified",
    "ChangeDiffAnswer.additions": 1,
    "ChangeDiffAnswer.deletions": 1,
    "ChangeDiffAnswer.new_encoding": "utf-8",
    "ChangeDiffAnswer.new_mode": "100644",
    "ChangeDiffAnswer.new_text": None,
    "ChangeDiffAnswer.note": None,
    "ChangeDiffAnswer.old_encoding": "utf-8",
    "ChangeDiffAnswer.old_mode": "100644",
    "ChangeDiffAnswer.old_path": None,
    "ChangeDiffAnswer.old_text": None,
    "ChangeDiffAnswer.path": "bakery/basket.py",
    "ChangeDiffAnswer.status": "modified",
    "ChangePage.additions": 12,
    "ChangePage.deletions": 3,
    "ChangePage.incomplete": None,
    "HunkAnswer.digest": "3.9f86d081884c7d659a2feaa0c55ad015",
    "HunkAnswer.header": "@@ -7,1 +7,1 @@ def total(self):",
    "HunkAnswer.lines": [
        ["-", "    return len(self._pieces)"],
        ["+", "    return sum(self._pieces.values())"],
    ],
    "HunkAnswer.new_lines": 1,
    "HunkAnswer.new_start": 7,
    "HunkAnswer.old_lines": 1,
    "HunkAnswer.old_start": 7,
}
