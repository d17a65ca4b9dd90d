"""Which files of the workspace a call created, changed or removed: two listings, compared.

The listing is made by a process of uid X, forked for it: what the user may not see is not listed,
and the supervisor touches no file of the user's.  Bounded; symbolic links are never followed.
"""

import json
import os

from _sandcell import frames, procs
from _sandcell.kernel_link import KernelLink

MAX_FILES = 20_000
MAX_NAMED = 1_000  # of a call's changes
DEADLINE_MS = 20_000


def main(control, request):
    """In the forked process: one listing, as the part `listing` of a `done`."""
    content = json.dumps(listing(request["root"])).encode("ascii")
    data = memoryview(frames.pack({"type": "done", "parts": [["listing", len(content)]]}, content))
    while data:
        data = data[os.write(control, data) :]
    os._exit(0)


def listing(root):
    """{"files": {relative path: [size, mtime ns, inode]}, "complete": bool}."""
    files = {}
    folders = [""]
    while folders:
        folder = folders.pop()
        try:
            with os.scandir(os.path.join(root, folder)) as entries:
                for entry in entries:
                    path = os.path.join(folder, entry.name)
                    status = entry.stat(follow_symlinks=False)
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(path)
                    elif len(files) >= MAX_FILES:
                        return {"files": files, "complete": False}
                    else:
                        files[path] = [status.st_size, status.st_mtime_ns, status.st_ino]
        except OSError:
            continue  # not for this user's eyes, or gone meanwhile
    return {"files": files, "complete": True}


def compare(before, after):
    """What the caller gets: names sorted, at most MAX_NAMED of each kind."""
    old, new = before["files"], after["files"]
    changes = {
        "created": sorted(new.keys() - old.keys()),
        "changed": sorted(path for path in new.keys() & old.keys() if new[path] != old[path]),
        "removed": sorted(old.keys() - new.keys()),
    }
    complete = before["complete"] and after["complete"]
    for kind, names in changes.items():
        if len(names) > MAX_NAMED:
            complete = False
            changes[kind] = names[:MAX_NAMED]
    sizes = {readable(path): new[path][0] for path in (*changes["created"], *changes["changed"])}
    named = {kind: [readable(path) for path in names] for kind, names in changes.items()}
    return {**named, "sizes": sizes, "complete": complete}


def readable(path):
    """A name as text: bytes that are no UTF-8 become U+FFFD."""
    return os.fsencode(path).decode("utf-8", "replace")


class Scan:
    """The supervisor's side: one listing, or None, is given to on_listing exactly once."""

    def __init__(self, loop, setup, zygote, on_listing):
        self.loop = loop
        self.uid = setup["uid"]
        self.on_listing = on_listing
        self.link = KernelLink(loop, self)
        try:
            self.link.fork(zygote, {"kind": "scan", "root": setup["cwd"]})
        except BaseException:
            self.link.close()
            raise
        self.pid = self.link.pid
        self.timer = loop.after(DEADLINE_MS, self._finish)

    def on_output(self, stream, data):
        pass

    def on_frame(self, header, content):
        listing = None
        try:
            listing = json.loads(frames.split_parts(header, content)["listing"])
            compare(listing, listing)  # of the right shape?
        except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError):
            listing = None
        self._finish(listing)

    def on_broken(self, reason):
        self._finish()

    def on_child_ended(self, _status):
        if self.link:
            self.link.read_last_words()
            self._finish()

    def _finish(self, listing=None):
        if not self.link:
            return
        link, self.link = self.link, None
        self.loop.cancel(self.timer)
        link.close()
        procs.kill_session(self.uid, self.pid)
        self.on_listing(self, listing)
