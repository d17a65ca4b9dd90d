"""Ending user code for certain, and reaping what PID 1 inherits.

Everything of uid X is user code.  kill(-1) is atomic against fork, so a fork bomb or a chain of
processes that hop from pid to pid stands still before it is counted.
"""

import os
import select
import signal

from _sandcell import drop


def signal_user(uid, number):
    """Sends a signal to every process of uid X at once, and to nobody else.

    PID 1 takes that uid for the moment of the call and lays CAP_KILL down, so that the kernel's own
    permission check picks the targets.  Its saved uid stays SERVICE, which keeps prlimit and ptrace out.
    """
    os.setresuid(uid, uid, drop.SERVICE)
    drop.set_capabilities(drop.KEPT, drop.KEPT & ~(1 << drop.CAP_KILL))
    try:
        os.kill(-1, number)
    except OSError:
        pass  # nobody there
    finally:
        os.setresuid(drop.SERVICE, drop.SERVICE, drop.SERVICE)
        drop.set_capabilities(drop.KEPT)
        drop.set_dumpable(uid)


def user_processes(uid):
    """{pid: session} of the living processes of uid X."""
    found = {}
    for name in os.listdir("/proc"):
        if not name.isdigit() or name == "1":
            continue
        try:
            # Not the owner of /proc/PID: that is root for whoever made itself not dumpable.
            with open("/proc/%s/status" % name, "rb") as file:
                status = file.read()
            with open("/proc/%s/stat" % name, "rb") as file:
                fields = file.read().rpartition(b")")[2].split()
        except OSError:
            continue
        if fields[0] in (b"Z", b"X"):
            continue
        uids = status.partition(b"\nUid:")[2].split(None, 4)[:4]
        if b"%d" % uid in uids:
            found[int(name)] = int(fields[3])
    return found


def is_child(uid, pid):
    """Whether pid is a process of uid X whose parent is PID 1 and that leads a session: what a fork
    of the kernel's has to be, so that its end is told here and its session is its own."""
    if type(pid) is not int or pid <= 1:
        return False
    try:
        with open("/proc/%d/status" % pid, "rb") as file:
            status = file.read()
        with open("/proc/%d/stat" % pid, "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return False
    return status.partition(b"\nUid:")[2].split(None, 1)[0] == b"%d" % uid and (
        int(fields[1]) == 1 and int(fields[3]) == pid
    )


def set_oom_score(uid, pid, score):
    """Of a process of uid X, with that uid's rights on files only."""
    setfsuid = drop.libc.setfsuid
    setfsuid(uid)
    try:
        with open("/proc/%d/oom_score_adj" % pid, "w") as file:
            file.write(str(score))
    except OSError:
        pass  # the order of victims is a little worse then
    finally:
        setfsuid(drop.SERVICE)
        drop.set_dumpable(uid)


def _kill(pid, number):
    try:
        os.kill(pid, number)
    except OSError:
        pass


def kill_user(uid, keep_pids=(), keep_sessions=()):
    """Kills everything of uid X but what is kept; True once it is proven gone."""
    keep_pids = set(keep_pids)
    keep_sessions = set(keep_sessions)
    keep_any = bool(keep_pids or keep_sessions)
    gone = False
    for attempt in range(2000):
        # With nobody to spare one signal does it; else they must stand still to be told apart.
        signal_user(uid, signal.SIGSTOP if keep_any else signal.SIGKILL)
        rest = [
            pid
            for pid, session in user_processes(uid).items()
            if pid not in keep_pids and session not in keep_sessions
        ]
        if not rest:
            gone = True
            break
        for pid in rest:
            _kill(pid, signal.SIGKILL)
        select.select((), (), (), 0.0002 if attempt < 20 else 0.005)  # let them die
    if keep_any:
        for pid, session in user_processes(uid).items():
            if pid in keep_pids or session in keep_sessions:
                _kill(pid, signal.SIGCONT)
    return gone


def kill_session(uid, session, spare=None):
    """Kills one process session, such as a command pipeline; all of it but the process `spare`."""
    for attempt in range(2000):
        rest = [pid for pid, sid in user_processes(uid).items() if sid == session and pid != spare]
        if not rest:
            return True
        for pid in rest:
            _kill(pid, signal.SIGKILL)
        select.select((), (), (), 0.0002 if attempt < 20 else 0.005)
    return False


def interrupt(pid):
    """SIGINT to the main thread of a process: another thread must not take it while that one has
    it blocked.  Falls back to the process where the number of tgkill is not known."""
    number = {"x86_64": 234, "aarch64": 131, "riscv64": 131, "s390x": 241, "ppc64le": 250}.get(
        os.uname().machine
    )
    if number is None:
        _kill(pid, signal.SIGINT)
        return
    ctypes = drop.ctypes
    drop.syscall(
        number, ctypes.c_int(pid), ctypes.c_int(pid), ctypes.c_int(signal.SIGINT)
    )


def reap():
    """[(pid, status, usage)] of the children that have ended."""
    ended = []
    while True:
        try:
            pid, status, usage = os.wait4(-1, os.WNOHANG)
        except ChildProcessError:
            return ended
        if pid == 0:
            return ended
        ended.append((pid, status, usage))
