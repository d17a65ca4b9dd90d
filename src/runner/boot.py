# Runs in PID 1 right behind stage 0, whose r(n) it uses: reads n bytes exactly from stdin.  Takes the
# setup frame, makes the package _sandcell from the sources in it, and hands over.  What comes here is
# from the client that created the container, so nothing is doubted.
import gc
import json
import os
import sys
from importlib.machinery import ModuleSpec


class SourceFinder:
    """Imports the package _sandcell from memory; a module is compiled when first asked for.

    Finder and loader by their methods alone: importing importlib.abc takes longer than all of boot.
    """

    def __init__(self, sources):
        self.sources = sources

    def find_spec(self, fullname, path=None, target=None):
        if fullname == "_sandcell":
            return ModuleSpec(fullname, self, is_package=True)
        package, _, name = fullname.rpartition(".")
        if package == "_sandcell" and name in self.sources:
            return ModuleSpec(fullname, self)
        return None

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        name = module.__name__.rpartition(".")[2]
        if module.__name__ != "_sandcell":
            exec(compile(self.sources[name], "<sandcell:%s>" % name, "exec"), module.__dict__)


def read_frame():
    lengths = r(8)
    header = json.loads(r(int.from_bytes(lengths[:4], "big")))
    return header, r(int.from_bytes(lengths[4:], "big"))


def read_setup():
    """The setup header, and the module sources by name."""
    setup, content = read_frame()
    missing = sum(size for _, size in setup["parts"]) - len(content)
    chunks = [content]
    while missing > 0:
        chunks.append(read_frame()[1])
        missing -= len(chunks[-1])
    content = b"".join(chunks)
    sources = {}
    at = 0
    for name, size in setup["parts"]:
        sources[name.partition(":")[2]] = content[at : at + size].decode()
        at += size
    return setup, sources


gc.disable()  # until all is compiled: nothing here is garbage, and looking for it takes time
setup, sources = read_setup()
null = os.open("/dev/null", os.O_RDONLY)
os.dup2(null, 0)
os.close(null)
sys.meta_path.insert(0, SourceFinder(sources))
from _sandcell import drop, zygote_link

setup["landlock"] = drop.landlock_abi()
drop.become_service(setup["uid"])
zygote = zygote_link.ZygoteLink(setup)
zygote.start()  # it compiles the kernel while the supervisor is compiled here
from _sandcell import supervisor

supervisor.main(zygote, setup)
