"""Who a process is: the service uid, the user's uid without any capability, Landlock, oom score.

DESIGN: two uids, because one does not hold.  The supervisor, the zygote and the connectors are
SERVICE and keep the few capabilities they need; user code becomes uid X with none, for good.
"""

import ctypes
import os
import resource

SERVICE = 65530

CAP_KILL, CAP_SETGID, CAP_SETUID, CAP_SETPCAP = 5, 6, 7, 8
KEPT = 1 << CAP_KILL | 1 << CAP_SETGID | 1 << CAP_SETUID | 1 << CAP_SETPCAP
ZYGOTE_KEPT = KEPT & ~(1 << CAP_KILL)

PR_SET_DUMPABLE = 4
PR_CAPBSET_DROP = 24
PR_SET_SECUREBITS = 28
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38
PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL = 47, 4
SECBIT_NO_SETUID_FIXUP = 1 << 2

libc = ctypes.CDLL(None, use_errno=True)


def _check(result, what):
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, "%s: %s" % (what, os.strerror(number)))
    return result


def prctl(option, *values):
    # Variadic: a bare int would be cut to 32 bits.
    values = [ctypes.c_ulong(value) for value in (*values, 0, 0, 0, 0)[:4]]
    return libc.prctl(ctypes.c_int(option), *values)


def syscall(number, *values):
    return libc.syscall(ctypes.c_long(number), *values)


class _CapHeader(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32), ("pid", ctypes.c_int)]


class _CapData(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint32) for name in ("effective", "permitted", "inheritable")]


def set_capabilities(permitted, effective=None):
    header = _CapHeader(0x20080522, 0)
    data = (_CapData * 2)()
    data[0].permitted = permitted
    data[0].effective = permitted if effective is None else effective
    _check(libc.capset(ctypes.byref(header), ctypes.byref(data)), "capset")


def become_service(user_uid):
    """From 0:0 to SERVICE with KEPT; later changes of uid leave the capabilities alone."""
    _check(prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP), "prctl(PR_SET_SECUREBITS)")
    os.setgroups([])
    os.setresgid(SERVICE, SERVICE, SERVICE)
    os.setresuid(SERVICE, SERVICE, SERVICE)
    set_capabilities(KEPT)
    set_dumpable(user_uid)


def set_dumpable(user_uid):
    """Not dumpable, except beside a user who is uid 0: then /proc/PID of a process that is not
    dumpable would belong to that user, oom_score_adj included.  ptrace is refused either way."""
    prctl(PR_SET_DUMPABLE, 1 if user_uid == 0 else 0)


def become_zygote(user_uid):
    set_capabilities(ZYGOTE_KEPT)
    set_dumpable(user_uid)


def become_user(uid, gid, limits):
    """No way back: empty bounding set, uid X, no capability in any set, then dumpable."""
    number = 0
    while prctl(PR_CAPBSET_DROP, number) == 0:
        number += 1
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL)
    os.setgroups([])
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)
    _check(prctl(PR_SET_SECUREBITS, 0), "prctl(PR_SET_SECUREBITS)")
    set_capabilities(0)
    _check(prctl(PR_SET_NO_NEW_PRIVS, 1), "prctl(PR_SET_NO_NEW_PRIVS)")
    for name, number in (("nofile", resource.RLIMIT_NOFILE), ("fsize", resource.RLIMIT_FSIZE)):
        if limits.get(name):
            hard = resource.getrlimit(number)[1]
            value = limits[name] if hard == resource.RLIM_INFINITY else min(limits[name], hard)
            resource.setrlimit(number, (value, value))
    prctl(PR_SET_DUMPABLE, 1)


def give_memory_back():
    """What the C library holds of freed memory counts against the container's limit."""
    try:
        libc.malloc_trim(0)
    except AttributeError:
        pass  # musl gives it back by itself


def set_oom_score(score):
    """Raises the caller's own score; lowering it again needs a capability nobody has.

    Leaves the caller dumpable: the file belongs to root otherwise, and could not be written.
    """
    prctl(PR_SET_DUMPABLE, 1)
    try:
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write(str(score))
    except OSError:
        pass  # /proc may be mounted read-only by another runtime; the verdict does not need it


# Landlock: numbers are the same on every architecture.
LANDLOCK_CREATE_RULESET, LANDLOCK_ADD_RULE, LANDLOCK_RESTRICT_SELF = 444, 445, 446
FS_EXECUTE = 1 << 0
FS_WRITE = 0b1_1111_1111_0010  # write, remove, make_*
FS_REFER = 1 << 13
FS_TRUNCATE = 1 << 14
SCOPE_ABSTRACT_SOCKET, SCOPE_SIGNAL = 1, 2


class _Ruleset(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("fs", "net", "scoped")]


class _PathRule(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("allowed", ctypes.c_uint64), ("parent_fd", ctypes.c_int32)]


def landlock_abi():
    abi = syscall(LANDLOCK_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(1))
    return abi if abi > 0 else 0


def restrict_files(writable, executable=None, scoped=0):
    """Writing only below `writable`, execve only below `executable` (None: anywhere).

    Returns the ABI in force, or 0 where the kernel has none that fits: before ABI 2 every
    rename into another directory would fail, which breaks ordinary programs.
    """
    abi = landlock_abi()
    if abi < 2:
        return 0
    write = FS_WRITE | FS_REFER | (FS_TRUNCATE if abi >= 3 else 0)
    handled = write | (0 if executable is None else FS_EXECUTE)
    rules = _Ruleset(handled, 0, scoped if abi >= 6 else 0)
    size = ctypes.sizeof(rules) if abi >= 6 else 8
    ruleset = syscall(LANDLOCK_CREATE_RULESET, ctypes.byref(rules), ctypes.c_size_t(size), ctypes.c_uint32(0))
    if ruleset < 0:
        return 0
    try:
        for path in writable:
            _allow(ruleset, path, write)
        for path in executable or ():
            _allow(ruleset, path, FS_EXECUTE)
        if syscall(LANDLOCK_RESTRICT_SELF, ctypes.c_int(ruleset), ctypes.c_uint32(0)) < 0:
            return 0
    finally:
        os.close(ruleset)
    return abi


def _allow(ruleset, path, access):
    try:
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # nothing there to allow
    try:
        rule = _PathRule(access, fd)
        _check(
            syscall(
                LANDLOCK_ADD_RULE,
                ctypes.c_int(ruleset),
                ctypes.c_int(1),
                ctypes.byref(rule),
                ctypes.c_uint32(0),
            ),
            "landlock_add_rule for %s" % path,
        )
    finally:
        os.close(fd)
