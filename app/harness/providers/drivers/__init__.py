"""The drivers by name: each package in here is one; its adapter has its record.

Owns: finding them. Never: building a provider (`factory`).
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pkgutil import iter_modules
from types import MappingProxyType

from app.harness.providers.driver import Driver

_FOUND: list[Driver] = [
    import_module(f"{__name__}.{one.name}.adapter").RECORD for one in iter_modules(__path__)
]
DRIVERS: Mapping[str, Driver] = MappingProxyType({driver.name: driver for driver in _FOUND})
