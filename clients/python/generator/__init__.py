"""Writes `kaged_client/_generated` from the two documents in `openapi/`.

Run `python -m generator` in `clients/python`, or `make clients`.
"""
