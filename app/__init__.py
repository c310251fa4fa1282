"""kaged: a self-hosted daemon for coding agents."""

__version__ = "0.1.0"
