"""The version, which is also the library's."""

__version__ = "0.1.0"
