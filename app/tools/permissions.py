"""The former place of the capability check: names that other modules still import from here."""

from __future__ import annotations

from app.tools.authorisation.cage_policy import denied
from app.tools.authorisation.file_policy import CallerPolicy as CagePolicy
from app.tools.authorisation.file_policy import fs_policy

__all__ = ["CagePolicy", "denied", "fs_policy"]
