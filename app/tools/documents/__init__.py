"""Texts of documents in foreign formats, read in child processes: the documents may be hostile."""
