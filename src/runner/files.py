"""Files in and out, in a process of uid X forked for one transfer: what user code may not read or
write, this may not either.  No symbolic link is ever followed: each part of each path is opened by
its name below the directory before it, so that user code that swaps one for another gains nothing.
"""

import errno
import json
import os
import secrets
import stat

from _sandcell import frames, tarstream
from _sandcell.tarstream import FILE, FOLDER, HARDLINK, SYMLINK

MAX_DEPTH = 128
MAX_SKIPPED = 1000
MAX_SKIPPED_CHARS = 128 << 10
MAX_PATH = 4095
STAGING = b".sandcell-put-"

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_SPECIAL = {
    stat.S_IFSOCK: "a socket",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFBLK: "a device",
    stat.S_IFCHR: "a device",
}


class FilesError(Exception):
    """What cannot be done, in words for the caller."""


def main(control, request):
    """In the forked process: stdin or stdout is the stream; one `done` on control at the end."""
    header, parts = {"type": "done", "status": "ok"}, {}
    try:
        if request["op"] == "get":
            _get(request, header, parts)
        else:
            _put(control, request, header)
    except FilesError as error:
        header["status"], parts["error"] = "error", str(error)
    except OSError as error:
        name = "'%s': " % readable(os.fsencode(error.filename)) if error.filename is not None else ""
        header["status"], parts["error"] = "error", name + error.strerror
    except tarstream.TarError as error:
        header["status"], parts["error"] = "error", str(error)
    _send(control, header, parts)
    os._exit(0)


def _send(control, header, parts):
    texts = [(name, text.encode("utf-8", "replace")) for name, text in parts.items()]
    header["parts"] = [[name, len(text)] for name, text in texts]
    data = memoryview(frames.pack(header, b"".join(text for _, text in texts)))
    while data:
        data = data[os.write(control, data) :]


def readable(path):
    return path.decode("utf-8", "replace")


# ---- paths


def open_folder(path, parents=False):
    """Opens a directory by an absolute path (bytes) without following a link."""
    fd = os.open("/", _FOLDER)
    done = b""
    for name in path.split(b"/"):
        if name in (b"", b"."):
            continue
        done += b"/" + name
        if name == b"..":
            os.close(fd)
            raise FilesError("'%s' holds '..'" % readable(path))
        try:
            below = _step(fd, name, done, parents)
        finally:
            os.close(fd)
        fd = below
    return fd


def _step(fd, name, whole, parents):
    try:
        return os.open(name, _FOLDER, dir_fd=fd)
    except FileNotFoundError:
        if not parents:
            raise FilesError("'%s' does not exist" % readable(whole)) from None
    except NotADirectoryError:  # what O_NOFOLLOW makes of a link here
        raise FilesError(_why_not(fd, name, whole)) from None
    except OSError as error:
        raise OSError(error.errno, error.strerror, whole) from None
    try:
        os.mkdir(name, 0o755, dir_fd=fd)
    except FileExistsError:
        pass
    except OSError as error:
        raise OSError(error.errno, error.strerror, whole) from None
    return os.open(name, _FOLDER, dir_fd=fd)


def _why_not(fd, name, whole):
    try:
        target = os.readlink(name, dir_fd=fd)
    except OSError:
        return "'%s' is not a directory" % readable(whole)
    return "'%s' is a symbolic link to '%s', and links are not followed; give the real path" % (
        readable(whole),
        readable(target),
    )


def _absolute(path, cwd):
    path = os.fsencode(path)
    if b"\0" in path or len(path) > MAX_PATH:
        raise FilesError("'%s' is no possible path" % readable(path)[:200])
    return path if path.startswith(b"/") else os.fsencode(cwd) + b"/" + path


# ---- get


def _get(request, header, parts):
    path = _absolute(request["path"], request["cwd"]).rstrip(b"/")
    packer = Packer(tarstream.Writer(1), request)
    folder, _, name = path.rpartition(b"/")
    if name in (b"", b".", b".."):
        if name == b"..":
            raise FilesError("'%s' holds '..'" % readable(path))
        packer.tree(open_folder(path))
    else:
        above = open_folder(folder)
        status = _status(name, above, path)
        if stat.S_ISDIR(status.st_mode):
            packer.tree(open_folder(path))
        else:
            packer.single(above, name, status, path)
    packer.out.finish()
    header.update(bytes=packer.out.bytes, sha256=packer.out.hash.hexdigest(), files=packer.files)
    parts["skipped"] = json.dumps(packer.skipped)


def _status(name, above, path):
    try:
        return os.stat(name, dir_fd=above, follow_symlinks=False)
    except FileNotFoundError:
        raise FilesError("'%s' does not exist" % readable(path)) from None
    except OSError as error:
        raise OSError(error.errno, error.strerror, path) from None


class Packer:
    def __init__(self, out, request):
        self.out = out
        self.max_files = request.get("max_files") or 1 << 62
        self.max_bytes = request.get("max_bytes") or 1 << 62
        self.leave = {os.fsencode(name) for name in request.get("skip", ())}
        self.files = 0
        self.data = 0
        self.skipped = []
        self.skipped_chars = 0
        self.links = {}  # (device, inode) of a file with several names -> the first of them
        self.buffer = memoryview(bytearray(tarstream.BUFFER))

    def skip(self, path, reason):
        self.skipped_chars += len(path)
        if len(self.skipped) < MAX_SKIPPED and self.skipped_chars < MAX_SKIPPED_CHARS:
            self.skipped.append([readable(path), reason])

    def count(self, path):
        self.files += 1
        if self.files > self.max_files:
            raise FilesError("more than %d files, at '%s'" % (self.max_files, readable(path)))

    def single(self, above, name, status, path):
        """The file itself, or the reason why it is none."""
        if stat.S_ISLNK(status.st_mode):
            raise FilesError(_why_not(above, name, path))
        kind = _SPECIAL.get(stat.S_IFMT(status.st_mode))
        if kind:
            raise FilesError("'%s' is %s" % (readable(path), kind))
        self._file(above, name, name)
        if self.skipped and not self.files:
            raise FilesError("'%s': %s" % (readable(path), self.skipped[0][1]))

    def tree(self, fd):
        """A directory and what is in it, in the order of names; closes fd."""
        self._folder(b"./", os.fstat(fd))
        names = sorted(os.fsencode(name) for name in os.listdir(fd))
        stack = [(fd, b"", iter([name for name in names if name not in self.leave]))]
        while stack:
            fd, prefix, names = stack[-1]
            name = next(names, None)
            if name is None:
                os.close(fd)
                stack.pop()
                continue
            below = self._member(fd, name, prefix + name, len(stack))
            if below is not None:
                listing = sorted(os.fsencode(name) for name in os.listdir(below))
                stack.append((below, prefix + name + b"/", iter(listing)))

    def _member(self, fd, name, path, depth):
        """Packs one name; the descriptor of a directory whose content is next."""
        try:
            status = os.stat(name, dir_fd=fd, follow_symlinks=False)
            kind = stat.S_IFMT(status.st_mode)
            if kind in _SPECIAL:
                self.skip(path, _SPECIAL[kind])
            elif len(path) > MAX_PATH or depth >= MAX_DEPTH:
                self.skip(path, "too deep")
            elif name.startswith(STAGING):
                self.skip(path, "a transfer that has not ended")
            elif kind == stat.S_IFDIR:
                below = os.open(name, _FOLDER, dir_fd=fd)
                self._folder(path + b"/", status)
                return below
            elif kind == stat.S_IFLNK:
                target = os.readlink(name, dir_fd=fd)
                self.count(path)
                self.out.write(tarstream.header(SYMLINK, path, 0, 0o777, int(status.st_mtime), target))
            else:
                self._file(fd, name, path)
        except OSError as error:
            self.skip(path, error.strerror)
        return None

    def _folder(self, path, status):
        self.count(path)
        mode, mtime = status.st_mode & 0o777, int(status.st_mtime)
        self.out.write(tarstream.header(FOLDER, path, 0, mode, mtime))

    def _file(self, fd, name, path):
        try:
            file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=fd)
        except OSError as error:
            self.skip(path, error.strerror)
            return
        try:
            status = os.fstat(file)
            if not stat.S_ISREG(status.st_mode):
                self.skip(path, "changed its kind")
                return
            self.count(path)
            if status.st_nlink > 1 and self._hardlink(path, status):
                return
            if status.st_blocks * 512 < status.st_size:
                self._sparse(file, path, status)
            else:
                self._plain(file, path, status)
        finally:
            os.close(file)

    def _hardlink(self, path, status):
        key = status.st_dev, status.st_ino
        first = self.links.setdefault(key, path)
        if first is path:
            return False
        self.out.write(tarstream.header(HARDLINK, path, 0, status.st_mode & 0o777, int(status.st_mtime), first))
        return True

    def _measure(self, path, size):
        self.data += size
        if self.data > self.max_bytes:
            raise FilesError("more than %d bytes, at '%s'" % (self.max_bytes, readable(path)))

    def _plain(self, file, path, status):
        size = status.st_size
        self._measure(path, size)
        self.out.write(tarstream.header(FILE, path, size, status.st_mode & 0o777, int(status.st_mtime)))
        if size <= 16384:
            data = os.read(file, size) if size else b""
            self.out.write(data)
            missing = size - len(data)
        else:
            missing = self._copy(file, size)
        self._fill(path, missing)
        self.out.write(tarstream.padding(size))

    def _copy(self, file, size):
        """Exactly so many bytes, whatever happens to the file meanwhile; how many were missing."""
        while size:
            count = os.readv(file, [self.buffer[:size]])
            if not count:
                break
            self.out.write_through(self.buffer[:count])
            size -= count
        return size

    def _fill(self, path, missing):
        if missing:
            self.skip(path, "was cut off while it was read; its end is zeros")
        while missing:
            piece = bytes(min(missing, 65536))
            self.out.write(piece)
            missing -= len(piece)

    def _sparse(self, file, path, status):
        regions = _regions(file, status.st_size)
        if regions is None:
            self._plain(file, path, status)
            return
        text = tarstream.sparse_map(regions)
        held = sum(count for _, count in regions)
        self._measure(path, held)
        mode, mtime = status.st_mode & 0o777, int(status.st_mtime)
        self.out.write(tarstream.sparse_header(path, status.st_size, len(text) + held, mode, mtime))
        self.out.write(text)
        missing = 0
        for offset, count in regions:
            os.lseek(file, offset, os.SEEK_SET)
            missing += self._copy(file, count) if not missing else count
        self._fill(path, missing)
        self.out.write(tarstream.padding(held))


def _regions(file, size):
    """[(offset, size)] of what is no hole; None where that cannot be told in few words."""
    regions = []
    at = 0
    try:
        while at < size:
            try:
                start = os.lseek(file, at, os.SEEK_DATA)
            except OSError as error:
                if error.errno != errno.ENXIO:
                    raise
                break
            at = min(os.lseek(file, start, os.SEEK_HOLE), size)
            regions.append((start, at - start))
            if len(regions) >= tarstream.SPARSE_REGIONS:
                return None
    except OSError:
        return None
    finally:
        os.lseek(file, 0, os.SEEK_SET)
    return regions


# ---- put


def _put(control, request, header):
    path = _absolute(request["path"], request["cwd"])
    folder = open_folder(path, request.get("parents") is True)
    staging = STAGING + secrets.token_hex(8).encode()
    try:
        os.mkdir(staging, 0o700, dir_fd=folder)
    except OSError as error:
        raise OSError(error.errno, error.strerror, path) from None
    try:
        source = tarstream.Source(0)
        unpacker = Unpacker(os.open(staging, _FOLDER, dir_fd=folder))
        for entry in (reader := tarstream.Reader(source)):
            unpacker.add(entry, reader)
        unpacker.finish()
        _send(control, {"type": "unpacked", "bytes": source.bytes, "sha256": source.hash.hexdigest()}, {})
        _wait_for_commit(control)
        moved = Move(folder, staging)
        if request.get("replace") is True:
            moved.replace()
        else:
            moved.merge()
    finally:
        remove(staging, folder)
    header.update(files=unpacker.files, bytes=unpacker.bytes)


def _wait_for_commit(control):
    reader = frames.Reader()
    while True:
        frame = reader.next()
        if frame:
            if frame[0]["type"] == "commit":
                return
            raise FilesError("stopped; nothing was changed")
        data = os.read(control, 65536)
        if not data:
            raise FilesError("stopped; nothing was changed")
        reader.feed(data)


class Unpacker:
    """Writes the entries of an archive below one directory."""

    def __init__(self, root):
        self.root = root
        self.folder = root  # the directory of the last entry
        self.folder_path = b""
        self.modes = []  # of directories, set at the end: a read-only one is still to be filled
        self.files = 0
        self.bytes = 0

    def add(self, entry, reader):
        path = entry.path.strip(b"/")
        names = [name for name in path.split(b"/") if name not in (b"", b".")]
        if b".." in names or b"\0" in path or entry.path.startswith(b"/"):
            raise FilesError("path '%s' in the archive leads out" % readable(entry.path))
        if not names:
            return
        self._enter(names[:-1])
        self.files += 1
        try:
            self._make(entry, names[-1], names, reader)
        except OSError as error:
            raise OSError(error.errno, error.strerror, path) from None

    def _enter(self, names):
        path = b"/".join(names)
        if path == self.folder_path:
            return
        fd = os.dup(self.root)
        for name in names:
            try:
                os.mkdir(name, 0o755, dir_fd=fd)
            except FileExistsError:
                pass
            below = os.open(name, _FOLDER, dir_fd=fd)
            os.close(fd)
            fd = below
        if self.folder != self.root:
            os.close(self.folder)
        self.folder, self.folder_path = fd, path

    def _make(self, entry, name, names, reader):
        if entry.kind == FILE:
            self._file(entry, name, reader)
        elif entry.kind == FOLDER:
            try:
                os.mkdir(name, 0o755, dir_fd=self.folder)
            except FileExistsError:
                pass
            self.modes.append((names, entry.mode, entry.mtime))
        elif entry.kind == SYMLINK:
            os.symlink(entry.link, name, dir_fd=self.folder)
        elif entry.kind == HARDLINK:
            self._hardlink(entry.link, name)
        else:
            raise FilesError("path '%s' in the archive is of no kind that is unpacked" % readable(entry.path))

    def _file(self, entry, name, reader):
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        fd = os.open(name, flags, 0o600, dir_fd=self.folder)
        try:
            if entry.regions is None:
                self._fill(fd, entry.size, reader)
            else:
                for offset, count in entry.regions:
                    os.lseek(fd, offset, os.SEEK_SET)
                    self._fill(fd, count, reader)
                os.ftruncate(fd, entry.size)
            os.fchmod(fd, entry.mode)
            os.utime(fd, (entry.mtime, entry.mtime))
        finally:
            os.close(fd)

    def _fill(self, fd, count, reader):
        self.bytes += count
        while count:
            piece = reader.content(count)
            count -= len(piece)
            while piece:
                piece = piece[os.write(fd, piece) :]

    def _hardlink(self, target, name):
        names = [part for part in target.split(b"/") if part not in (b"", b".")]
        fd = os.dup(self.root)
        try:
            for part in names[:-1]:
                below = os.open(part, _FOLDER, dir_fd=fd)
                os.close(fd)
                fd = below
            os.link(names[-1], name, src_dir_fd=fd, dst_dir_fd=self.folder, follow_symlinks=False)
        finally:
            os.close(fd)

    def finish(self):
        if self.folder != self.root:
            os.close(self.folder)
            self.folder, self.folder_path = self.root, b""
        for names, mode, mtime in reversed(self.modes):
            self._enter(names)
            os.fchmod(self.folder, mode)
            os.utime(self.folder, (mtime, mtime))


class Move:
    """Puts what was unpacked in its place: all conflicts are found before the first rename."""

    def __init__(self, folder, staging):
        self.folder = folder
        self.staging = staging

    def merge(self):
        source = os.open(self.staging, _FOLDER, dir_fd=self.folder)
        self._check(source, self.folder, b"")
        self._merge(source, self.folder)
        os.close(source)

    def _check(self, source, target, prefix):
        for name in os.listdir(source):
            name = os.fsencode(name)
            path = prefix + name
            new = os.stat(name, dir_fd=source, follow_symlinks=False)
            try:
                old = os.stat(name, dir_fd=target, follow_symlinks=False)
            except FileNotFoundError:
                continue
            if stat.S_ISDIR(new.st_mode) != stat.S_ISDIR(old.st_mode):
                if stat.S_ISLNK(old.st_mode):
                    raise FilesError(_why_not(target, name, path))
                raise FilesError("'%s' is a directory on one side and a file on the other" % readable(path))
            if stat.S_ISDIR(new.st_mode):
                below, place = _open_both(source, target, name)
                self._check(below, place, path + b"/")
                os.close(below)
                os.close(place)

    def _merge(self, source, target):
        for name in os.listdir(source):
            name = os.fsencode(name)
            if self._is_folder(name, source) and self._is_folder(name, target):
                below, place = _open_both(source, target, name)
                self._merge(below, place)
                os.close(below)
                os.close(place)
            else:
                os.rename(name, name, src_dir_fd=source, dst_dir_fd=target)

    @staticmethod
    def _is_folder(name, fd):
        try:
            return stat.S_ISDIR(os.stat(name, dir_fd=fd, follow_symlinks=False).st_mode)
        except FileNotFoundError:
            return False

    def replace(self):
        """Everything that was there goes; it comes back if that cannot be done to the end."""
        old = STAGING + secrets.token_hex(8).encode()
        os.mkdir(old, 0o700, dir_fd=self.folder)
        away = os.open(old, _FOLDER, dir_fd=self.folder)
        source = os.open(self.staging, _FOLDER, dir_fd=self.folder)
        try:
            self._swap(source, away, {self.staging, old})
        finally:
            os.close(source)
            os.close(away)
            remove(old, self.folder)

    def _swap(self, source, away, ours):
        moved, placed = [], []
        try:
            for name in map(os.fsencode, os.listdir(self.folder)):
                if name not in ours:
                    os.rename(name, name, src_dir_fd=self.folder, dst_dir_fd=away)
                    moved.append(name)
            for name in map(os.fsencode, os.listdir(source)):
                os.rename(name, name, src_dir_fd=source, dst_dir_fd=self.folder)
                placed.append(name)
        except OSError:
            for name in placed:
                os.rename(name, name, src_dir_fd=self.folder, dst_dir_fd=source)
            for name in moved:
                os.rename(name, name, src_dir_fd=away, dst_dir_fd=self.folder)
            raise


def _open_both(source, target, name):
    below = os.open(name, _FOLDER, dir_fd=source)
    return below, os.open(name, _FOLDER, dir_fd=target)


def remove(name, folder):
    """A directory with all that is in it, however deep; what cannot be removed stays."""
    try:
        top = os.open(name, _FOLDER, dir_fd=folder)
    except OSError:
        return
    mark = secrets.token_hex(8).encode()
    count = 0
    before = None
    while True:
        names = [os.fsencode(below) for below in os.listdir(top)]
        if not names or names == before:
            break
        before = names
        for below in names:
            count = _remove_one(top, below, mark, count)
    os.close(top)
    try:
        os.rmdir(name, dir_fd=folder)
    except OSError:
        pass


def _remove_one(top, name, mark, count):
    """Directories in a directory come up to the top, so that nothing here is deep."""
    try:
        os.unlink(name, dir_fd=top)
        return count
    except OSError:
        pass
    try:
        fd = os.open(name, _FOLDER, dir_fd=top)
    except OSError:
        return count
    try:
        os.fchmod(fd, 0o700)
        for below in os.listdir(fd):
            try:
                os.unlink(below, dir_fd=fd)
            except OSError:
                count += 1
                os.rename(below, mark + b"%d" % count, src_dir_fd=fd, dst_dir_fd=top)
        os.rmdir(name, dir_fd=top)
    except OSError:
        pass
    finally:
        os.close(fd)
    return count
