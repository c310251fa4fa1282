"""Cron expressions: which times they name, and when they come next."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.harness.dsl.cron import cron_problem, parse_cron

pytestmark = pytest.mark.requirement("workflows.schedule")


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("expression", "after", "following"),
    [
        ("* * * * *", "2026-11-22 10:00:59", "2026-11-22 10:01"),
        ("*/15 8-18 * * mon-fri", "2026-11-20 18:45", "2026-11-23 08:00"),  # over a weekend
        ("5/20 * * * *", "2026-11-22 10:06", "2026-11-22 10:25"),
        ("0 0 29 2 *", "2026-03-01 00:00", "2028-02-29 00:00"),
        ("0 0 29 2 *", "2097-01-01 00:00", "2104-02-29 00:00"),  # 2100 has none
        ("30 4 1,15 * 5", "2026-11-01 04:30", "2026-11-06 04:30"),  # a Friday: either day counts
        ("0 0 13 * 5", "2026-11-22 00:00", "2026-11-27 00:00"),
        ("0 12 * jan,jul 0", "2026-11-22 00:00", "2027-01-03 12:00"),
        ("0 12 * * 7", "2026-11-22 12:00", "2026-11-29 12:00"),  # 7 is Sunday, too
        ("@daily", "2026-12-31 23:59", "2027-01-01 00:00"),
        ("@weekly", "2026-11-22 00:00", "2026-11-29 00:00"),
        ("0 0 31 * *", "2026-11-01 00:00", "2026-12-31 00:00"),
        ("0 0 */10 * 1", "2026-11-22 00:00", "2026-12-21 00:00"),  # both, as the day begins with a star
    ],
)
def test_the_next_time(expression: str, after: str, following: str) -> None:
    assert parse_cron(expression).next_after(at(after)) == at(following)


@pytest.mark.parametrize(
    "expression",
    ["", "* * * *", "60 * * * *", "* 24 * * *", "0 0 0 * *", "0 0 * 13 *", "0 0 * * 8", "*/0 * * * *",
     "5-1 * * * *", "0 0 30 2 *", "0 0 31 4,6,9,11 *", "a * * * *", "@never"],
)  # fmt: skip
def test_what_is_no_schedule_is_reported(expression: str) -> None:
    assert cron_problem(expression) is not None


@given(
    st.sampled_from(["*/7 * * * *", "3,50 1-5 * * *", "0 9 1-7 * mon", "15 22 * feb,aug *", "@monthly"]),
    st.datetimes(datetime(2024, 1, 1), datetime(2030, 1, 1)),
)
@settings(max_examples=100, deadline=None)
def test_the_next_time_matches_and_none_between_does(expression: str, moment: datetime) -> None:
    cron, after = parse_cron(expression), moment.replace(tzinfo=UTC)
    following = cron.next_after(after)
    assert following is not None
    assert cron.matches(following)
    assert following > after
    minute = after.replace(second=0, microsecond=0) + timedelta(minutes=1)
    for _ in range(2_000):
        if minute >= following:
            break
        assert not cron.matches(minute)
        minute += timedelta(minutes=1)


@pytest.mark.parametrize(
    ("expression", "says"),
    [
        ("every day", "`0 7 * * mon-fri`, or one of @hourly"),
        ("0 0 7 * * *", "as there are no seconds"),
        ("0 24 * * *", "`24` is no hour; write 0 to 23, or `*`"),
        ("0 0 * * fri-mon", "`fri-mon` is no weekday; write 0 to 7 or sun to sat, a range from the smaller"),
        ("*/90 * * * *", "a step from 1 to 59"),
    ],
)
def test_the_error_for_what_is_no_schedule_says_what_to_write(expression: str, says: str) -> None:
    assert says in str(cron_problem(expression))


def test_a_shorthand_may_be_written_in_any_case() -> None:
    assert parse_cron(" @Daily ") == parse_cron("0 0 * * *")
