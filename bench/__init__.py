"""Measurements of the real daemon. Each file prints one figure; `python -m bench NAME`."""
