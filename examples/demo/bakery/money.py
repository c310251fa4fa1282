"""Sums of money in cents: taking a share of them, and writing them for people."""


def percent_of(cents: int, percent: int) -> int:
    """Return `percent` of `cents`, half a cent rounded up."""
    return (cents * percent + 50) // 100


def written(cents: int) -> str:
    """Return `12.50` for 1250."""
    sign = "-" if cents < 0 else ""
    whole, rest = divmod(abs(cents), 100)
    return f"{sign}{whole}.{rest:02d}"
