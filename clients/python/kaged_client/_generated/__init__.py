"""Generated modules; see `generator`."""
