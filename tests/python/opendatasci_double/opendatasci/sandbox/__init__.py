from opendatasci.sandbox.base import BaseSandbox, BaseSandboxFactory, SandboxExecResult

__all__ = ["BaseSandbox", "BaseSandboxFactory", "SandboxExecResult"]
