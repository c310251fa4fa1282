"""Benchmarks of the real daemon. Each file prints its figures; `python -m bench NAME` runs one."""
