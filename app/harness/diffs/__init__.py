"""Differences of files as git has them, and the names of files in JSON and in addresses."""
