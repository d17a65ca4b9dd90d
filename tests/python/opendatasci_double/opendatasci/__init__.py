"""A stand-in for OpenDataSci with the public interface that it publishes."""
from opendatasci.sandbox.base import SandboxExecResult

__all__ = ["SandboxExecResult"]
