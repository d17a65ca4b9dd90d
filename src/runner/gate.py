"""Signals reach user code only.

Between cells the kernel is deaf: what comes stays pending until the next cell begins or a `drain`
takes it away.  So no handler, ours or the user's, can raise in the middle of a frame.
"""

import _signal  # the C module: `signal` makes an enum of every number, 3 us each
import builtins
import sys
import threading

__builtins__ = dict(vars(builtins))  # user code may break the shared ones

SIGINT = int(_signal.SIGINT)
DEAF = tuple(
    int(getattr(_signal, name))
    for name in "SIGINT SIGALRM SIGVTALRM SIGPROF SIGUSR1 SIGUSR2 SIGCHLD SIGTERM SIGHUP".split()
)

_set_handler, _get_handler = _signal.signal, _signal.getsignal
_set_mask = _signal.pthread_sigmask
_block, _replace = int(_signal.SIG_BLOCK), int(_signal.SIG_SETMASK)
_take_pending = _signal.sigtimedwait
_send_to_thread = _signal.pthread_kill
_interrupt = _signal.default_int_handler
_exc_info, _set_trace, _set_profile = sys.exc_info, sys.settrace, sys.setprofile
_this_thread = threading.get_ident
_main_thread = threading.main_thread().ident

_user_mask = frozenset()


def _put_back(number, _frame):
    """A thread of the user's took a SIGINT while the main thread is deaf.

    Handed to the main thread, it waits there like any other.
    """
    if number in _set_mask(_block, ()):
        _send_to_thread(_main_thread, number)
    else:
        raise KeyboardInterrupt


def run(step, *args):
    """Calls step with signals let through; None, or the exc_info of what came out of it.

    Each time SIGINT has its usual handler again.  Afterwards the gate is shut, however many signals
    came: the blocking call does its work first and raises what is pending then, so that nothing can
    come any more once its exception is caught.  Nor does a tracer of the user's watch what follows.
    """
    try:
        return _attempt(step, args)
    finally:
        _set_handler(SIGINT, _put_back)


def _attempt(step, args):
    global _user_mask
    try:
        try:
            _set_handler(SIGINT, _interrupt)
            _set_mask(_replace, _user_mask)
            step(*args)
        finally:
            mask = _set_mask(_block, DEAF)
            _set_trace(None)
            _set_profile(None)
        if SIGINT not in mask:
            _user_mask = mask
        return None
    except BaseException:
        return _exc_info()  # in no variable, here or in run(): that traceback leads to both frames


def shut():
    """For a start; may raise what a handler raises, once."""
    _set_mask(_block, DEAF)
    _set_handler(SIGINT, _put_back)


def forget_pending():
    """True if a SIGINT was waiting."""
    found = False
    while _take_pending((SIGINT,), 0) is not None:
        found = True
    return found


class Shut:
    """With this around it, user code cannot be interrupted half way through a frame."""

    def __enter__(self):
        self.handler = None
        self.mask = _set_mask(_block, ())
        try:
            _set_mask(_block, DEAF)
            if _this_thread() == _main_thread:
                self.handler = _set_handler(SIGINT, _put_back)
        except BaseException:  # a handler raised: the user's code goes on with that
            self.__exit__()
            raise

    def __exit__(self, *_):
        if self.handler is not None:
            _set_handler(SIGINT, self.handler)
        _set_mask(_replace, self.mask)


class Handler:
    """Another handler of SIGINT for a while; one that the user sets meanwhile stays."""

    def __init__(self, handler):
        self.handler = handler

    def __enter__(self):
        _set_handler(SIGINT, self.handler)

    def __exit__(self, *_):
        if _get_handler(SIGINT) == self.handler:
            _set_handler(SIGINT, _interrupt)
