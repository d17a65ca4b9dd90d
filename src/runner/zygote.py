"""The interpreter with the preloaded modules; forks kernels and command leaders (PROTOCOL.md, section 6).

Each is forked twice, so that PID 1 becomes its parent and learns its wait status first hand.
"""

import gc
import importlib
import json
import os
import select
import signal
import socket
import sys
import traceback

from _sandcell import drop

OOM_ZYGOTE, OOM_USER = 300, 1000
MESSAGE = 65536
QUIET_S = 0.3  # without a request: before, the processors are busy with opening the session


def main(link, setup):
    """Never returns.  `link` is a SOCK_SEQPACKET socket: one JSON object a message."""
    os.setsid()
    drop.set_oom_score(OOM_ZYGOTE)
    drop.become_zygote(setup["uid"])
    os.environ.clear()
    os.environ.update(setup["env"])
    _find_packages()
    from _sandcell import kernel  # noqa: F401  once here, not in every child

    preloaded, errors = _preload(setup["preload"])
    if preloaded:
        gc.collect()
    gc.freeze()
    gc.enable()  # boot.py switched it off
    _send(link, {"type": "zygote", "preloaded": preloaded, "errors": errors})
    complete = False
    while _serve(link, setup):
        if not complete and not select.select([link], (), (), QUIET_S)[0]:
            _import_the_rest()
            complete = True
    os._exit(0)


def _serve(link, setup):
    """One request; False when the supervisor has gone."""
    message, fds, _flags, _address = socket.recv_fds(link, MESSAGE, 4)
    if message:
        _fork(link, json.loads(message), fds, setup)
    return bool(message)


def _import_the_rest():
    """What other children than kernels need; whoever comes before imports it for itself."""
    import hashlib  # noqa: F401

    from _sandcell import cli, files, pickling, state  # noqa: F401

    gc.freeze()


def _send(link, message):
    link.send(json.dumps(message).encode())


def _find_packages():
    """What -S left out for the speed of PID 1: site-packages, exit(), help()."""
    import site

    site.main()


def _preload(names):
    preloaded, errors = [], {}
    for name in names:
        try:
            importlib.import_module(name)
        except BaseException as error:  # whatever a module does on import, the zygote lives
            errors[name] = "%s: %s" % (type(error).__name__, str(error)[:500])
        else:
            preloaded.append(name)
    return preloaded, errors


def _fork(link, request, fds, setup):
    try:
        middle = os.fork()
    except OSError as error:
        _send(link, {"type": "error", "message": "fork: %s" % error.strerror})
        for fd in fds:
            os.close(fd)
        return
    if middle == 0:
        _middle(link, request, fds, setup)
    for fd in fds:
        os.close(fd)
    os.waitpid(middle, 0)


def _middle(link, request, fds, setup):
    try:
        pid = os.fork()
        if pid:
            _send(link, {"type": "forked", "pid": pid})
            os._exit(0)
    except OSError as error:
        _send(link, {"type": "error", "message": "fork: %s" % error.strerror})
        os._exit(1)
    try:
        link.close()
        _child(request, fds, setup)
    except BaseException:
        os.write(2, traceback.format_exc().encode("utf-8", "backslashreplace"))
    os._exit(70)


def _child(request, fds, setup):
    control, stdin, stdout, stderr = fds
    for target, fd in enumerate((stdin, stdout, stderr)):
        os.dup2(fd, target)
        os.close(fd)
    os.setsid()
    signal.pthread_sigmask(signal.SIG_SETMASK, [signal.SIGINT])
    # PID 1 needs the umask of nobody; user files get the usual one.
    os.umask(0o022)
    drop.become_user(setup["uid"], setup["gid"], setup["limits"])
    drop.set_oom_score(OOM_USER)
    os.chdir(setup["cwd"])
    if request["kind"] == "kernel":
        _start_kernel(control, setup, request.get("restore") is True)
    elif request["kind"] == "files":
        from _sandcell import files

        _restrict(setup)
        files.main(control, request)
    elif request["kind"] == "scan":
        from _sandcell import artifacts

        artifacts.main(control, request)
    else:
        from _sandcell import cli

        cli.main(control, request)


def _restrict(setup):
    if setup["landlock"]:
        drop.restrict_files(
            setup["writable"], scoped=drop.SCOPE_ABSTRACT_SOCKET | drop.SCOPE_SIGNAL
        )


def _start_kernel(control, setup, restore):
    from _sandcell import home, kernel

    home.furnish(os.environ.get("HOME", ""))
    _restrict(setup)
    if "numpy.random" in sys.modules:
        sys.modules["numpy.random"].seed()  # else every kernel draws the same numbers
    kernel.main(control, {"cwd": setup["cwd"], "restore": restore})
