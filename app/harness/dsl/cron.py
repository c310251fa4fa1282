"""Cron expressions of five fields, in UTC: what they mean, and when they come next.

Owns: reading one and telling its times. Never: a clock, or starting anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache

_FIELDS = (("minute", 0, 59), ("hour", 0, 23), ("day", 1, 31), ("month", 1, 12), ("weekday", 0, 7))
_NAMES = {
    "month": ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"],
    "weekday": ["sun", "mon", "tue", "wed", "thu", "fri", "sat"],
}
_PART = re.compile(r"^(?:\*|([0-9]+|[a-z]{3})(?:-([0-9]+|[a-z]{3}))?)(?:/([0-9]+))?$")
_SHORTHANDS = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
}
_LONGEST_PART = 20
_HORIZON_DAYS = 366 * 8 + 2
"""After so many days every date has come: 29 February is at most eight years away."""


@dataclass(frozen=True, slots=True)
class Cron:
    """The times of one expression. A day counts when it is in `days` and in `weekdays` (0 is Sunday); in
    one of them is enough with `either_day`, as cron has it when both are restricted."""

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    either_day: bool

    def matches(self, moment: datetime) -> bool:
        """Tell whether the minute of `moment` (UTC) is one of the times."""
        return moment.minute in self.minutes and moment.hour in self.hours and self._on(moment.date())

    def next_after(self, moment: datetime) -> datetime | None:
        """Return the first time after the minute of `moment` (UTC); None when there is none for years."""
        start = moment.replace(second=0, microsecond=0) + timedelta(minutes=1)
        for offset in range(_HORIZON_DAYS):
            day = start.date() + timedelta(days=offset)
            if not self._on(day):
                continue
            for hour, minute in self._times():
                found = datetime(day.year, day.month, day.day, hour, minute, tzinfo=UTC)
                if found >= start:
                    return found
        return None

    def _times(self) -> Iterator[tuple[int, int]]:
        return ((hour, minute) for hour in sorted(self.hours) for minute in sorted(self.minutes))

    def _on(self, day: date) -> bool:
        if day.month not in self.months:
            return False
        in_month, in_week = day.day in self.days, day.isoweekday() % 7 in self.weekdays
        return (in_month or in_week) if self.either_day else (in_month and in_week)


@lru_cache(maxsize=256)
def parse_cron(expression: str) -> Cron:
    """Return the times of an expression such as `*/15 8-18 * jan-jun mon,fri`, or `@daily`.

    Raises ValueError that says what is wrong with it."""
    plain = expression.strip().lower()
    fields = _SHORTHANDS.get(plain, plain).split()
    if len(fields) != len(_FIELDS):
        seconds = ", as there are no seconds" if len(fields) == len(_FIELDS) + 1 else ""
        raise ValueError(
            f"a schedule has five fields (minute hour day month weekday), found {len(fields)}; write one as "
            f"`0 7 * * mon-fri`{seconds}, or one of {', '.join(_SHORTHANDS)}"
        )
    minutes, hours, days, months, weekdays = (
        _field(text, name, low, high) for text, (name, low, high) in zip(fields, _FIELDS, strict=True)
    )
    found = Cron(
        minutes,
        hours,
        days,
        months,
        frozenset(day % 7 for day in weekdays),
        either_day=not fields[2].startswith("*") and not fields[4].startswith("*"),
    )
    if found.next_after(datetime(2000, 1, 1, tzinfo=UTC)) is None:
        raise ValueError(f"`{expression}` never comes: no such day is in these months")
    return found


def cron_problem(expression: str) -> str | None:
    """Say what is wrong with a cron expression of five fields, or None."""
    try:
        parse_cron(expression)
    except ValueError as problem:
        return str(problem)
    return None


def _field(text: str, name: str, low: int, high: int) -> frozenset[int]:
    return frozenset(number for part in text.split(",") for number in _part(part, name, low, high))


def _part(part: str, name: str, low: int, high: int) -> range:
    match = _PART.match(part) if len(part) <= _LONGEST_PART else None
    if match is None:
        raise _not_a(part, name, low, high)
    first, last, step = match.groups()
    numbers = [_number(word, name, low) for word in (first, last) if word is not None]
    in_range = all(low <= number <= high for number in numbers) and numbers == sorted(numbers)
    if not in_range or (step is not None and not 0 < int(step) <= high):
        raise _not_a(part, name, low, high)
    start = numbers[0] if numbers else low
    # A single number with a step means from there on, as `5/15` does.
    end = numbers[-1] if len(numbers) == 2 or (numbers and step is None) else high
    return range(start, end + 1, int(step or 1))


def _number(word: str, name: str, low: int) -> int:
    names = _NAMES.get(name, [])
    if word.isdigit():
        return int(word)
    return names.index(word) + low if word in names else -1


def _not_a(part: str, name: str, low: int, high: int) -> ValueError:
    names = _NAMES.get(name)
    named = f" or {names[0]} to {names[-1]}" if names is not None else ""
    several = ", a range from the smaller to the larger" if "-" in part else ""
    step = f", and a step from 1 to {high}" if "/" in part else ""
    return ValueError(f"`{part[:40]}` is no {name}; write {low} to {high}{named}{several}{step}, or `*`")
