"""Modules of others, changed a little as soon as they are loaded, and never loaded for that."""

import builtins
import sys

__builtins__ = dict(vars(builtins))  # user code may break the shared ones


def when_loaded(callbacks):
    """callbacks: full module name -> what is called with the module, before its importer sees it."""
    waiting = {}
    for name, callback in callbacks.items():
        if name in sys.modules:
            callback(sys.modules[name])
        else:
            waiting[name] = callback
    if waiting:
        sys.meta_path.insert(0, _Finder(waiting))


class _Finder:
    """Finds nothing itself; once all modules have come it leaves."""

    def __init__(self, waiting):
        self.waiting = waiting

    def find_spec(self, name, path=None, target=None):
        if name not in self.waiting:
            return None
        for finder in sys.meta_path:
            if finder is not self and hasattr(finder, "find_spec"):
                spec = finder.find_spec(name, path, target)
                if spec is not None:
                    if hasattr(spec.loader, "exec_module"):
                        spec.loader = _Loader(spec.loader, self)
                    return spec
        return None

    def loaded(self, module):
        callback = self.waiting.pop(module.__name__, None)
        if callback is not None:
            callback(module)
        if not self.waiting and self in sys.meta_path:
            sys.meta_path.remove(self)


class _Loader:
    """The module's own loader, and a word to the finder when it is done."""

    def __init__(self, loader, finder):
        self._loader = loader
        self._finder = finder

    def __getattr__(self, name):
        return getattr(self._loader, name)

    def create_module(self, spec):
        return self._loader.create_module(spec)

    def exec_module(self, module):
        # The module keeps its real loader, as if nobody had looked.
        module.__loader__ = module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        self._finder.loaded(module)
