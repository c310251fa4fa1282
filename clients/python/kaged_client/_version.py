"""The version, in step with the daemon's."""

__version__ = "0.1.0"
