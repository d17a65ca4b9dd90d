# Runs in PID 1 right behind stage 0, whose names it uses: l (the listening socket), c and f (the first
# connection and its descriptors), r (reads n bytes exactly).  Takes the first client's hello and setup
# frames, makes the package _sandcell from the sources in setup, and hands over.  The first client is
# the one that created the container, so nothing is doubted here.
import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec


class SourceFinder(MetaPathFinder, Loader):
    """Imports the package _sandcell from memory; a module is compiled when first asked for."""

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
    header = r(int.from_bytes(r(4), "big") + 4)  # the second length comes glued in front
    return json.loads(header[4:]), r(int.from_bytes(header[:4], "big"))


def read_setup():
    """The hello header, the setup header, and the module sources by name."""
    hello = read_frame()[0]
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
    return hello, setup, sources


hello, setup, sources = read_setup()
sys.meta_path.insert(0, SourceFinder(sources))
from _sandcell import drop, zygote_link

setup["landlock"] = drop.landlock_abi()
drop.become_service(setup["uid"])
zygote = zygote_link.ZygoteLink(setup)
zygote.start()  # it compiles the kernel while the supervisor is compiled here
from _sandcell import supervisor

supervisor.main(zygote, l, c, f, hello, setup)
