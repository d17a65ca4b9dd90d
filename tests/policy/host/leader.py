"""Runs command lines as the supervisor does, in a process of its own on this host.

argv: folder of the runner's sources, number of the control socket, scratch folder.
"""

import ctypes
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../runner"))

import forker  # noqa: E402

forker.install(sys.argv[1])

from _sandcell import cli  # noqa: E402

PR_SET_NO_NEW_PRIVS = 38

os.setsid()
signal.pthread_sigmask(signal.SIG_SETMASK, [signal.SIGINT])
ctypes.CDLL(None).prctl(PR_SET_NO_NEW_PRIVS, *[ctypes.c_ulong(value) for value in (1, 0, 0, 0)])
cli.main(int(sys.argv[2]), {"scratch": sys.argv[3]})
