"""Forks kernels from a clean interpreter, as the zygote does.  Runs as a process of its own.

Each request is one JSON object with the descriptors [control, stdout, stderr]; the answer is the pid,
or the wait status of a pid.
"""

import importlib.util
import json
import os
import signal
import socket
import sys
import traceback


class Finder:
    """The package _sandcell, as the runner makes it: from sources, under names of no file."""

    def __init__(self, folder):
        self.folder = folder

    def find_spec(self, name, path=None, target=None):
        if name == "_sandcell":
            return importlib.util.spec_from_loader(name, self, is_package=True)
        package, _, module = name.partition(".")
        if package != "_sandcell" or not os.path.isfile(self._file(module)):
            return None
        return importlib.util.spec_from_loader(name, self)

    def _file(self, module):
        return os.path.join(self.folder, module + ".py")

    @staticmethod
    def create_module(spec):
        return None

    def exec_module(self, module):
        name = module.__name__.partition(".")[2]
        if name:
            with open(self._file(name), encoding="utf-8") as file:
                text = file.read()
            exec(compile(text, "<sandcell:%s>" % name, "exec", dont_inherit=True), module.__dict__)


def install(folder):
    if not any(type(finder).__name__ == "Finder" for finder in sys.meta_path):
        sys.meta_path.insert(0, Finder(folder))


def child(link, fds, request):
    control, stdout, stderr = fds
    link.close()
    os.setsid()
    null = os.open("/dev/null", os.O_RDONLY)
    for target, fd in enumerate((null, stdout, stderr)):
        os.dup2(fd, target)
        os.close(fd)
    os.environ["MPLBACKEND"] = "Agg"
    exec(request["before"], {})
    from _sandcell import kernel

    kernel.main(control, {"cwd": request["cwd"]})


def serve(link):
    while True:
        message, fds, _flags, _address = socket.recv_fds(link, 65536, 3)
        if not message:
            os._exit(0)
        request = json.loads(message)
        if "wait" in request:
            pid, status = os.waitpid(request["wait"], os.WNOHANG)
            answer = status if pid else None
        else:
            answer = os.fork()
            if answer == 0:
                try:
                    child(link, fds, request)
                except BaseException:
                    os.write(2, traceback.format_exc().encode())
                os._exit(71)
            for fd in fds:
                os.close(fd)
        link.send(json.dumps(answer).encode())


if __name__ == "__main__":
    # As in the supervisor and the zygote: no kernel sees a SIGINT before its first cell.
    signal.pthread_sigmask(signal.SIG_SETMASK, [signal.SIGINT])
    install(sys.argv[1])
    from _sandcell import kernel  # noqa: F401  (imported once, before the forks)

    serve(socket.socket(fileno=int(sys.argv[2])))
