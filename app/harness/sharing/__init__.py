"""A session as a file for other people: what leaves, without secrets, as HTML or as Markdown."""
