"""The limits in force and the kernel's own count of OOM kills, read from inside (v1 and v2)."""

import os
import resource

ROOT = "/sys/fs/cgroup"


def _read(path):
    try:
        with open(os.path.join(ROOT, path)) as file:
            return file.read()
    except OSError:
        return None


def _number(text, unlimited=1 << 60):
    """An integer, or None for "max", nonsense and what v1 writes for no limit."""
    try:
        value = int(text.split()[0])
    except (AttributeError, ValueError, IndexError):
        return None
    return value if 0 <= value < unlimited else None


def version():
    return 2 if os.path.exists(ROOT + "/cgroup.controllers") else 1


def _cpu_millis_v1():
    quota = _number(_read("cpu/cpu.cfs_quota_us") or _read("cpu,cpuacct/cpu.cfs_quota_us"))
    period = _number(_read("cpu/cpu.cfs_period_us") or _read("cpu,cpuacct/cpu.cfs_period_us"))
    return quota * 1000 // period if quota and period else None


def _cpu_millis_v2():
    fields = (_read("cpu.max") or "").split()
    if len(fields) != 2 or fields[0] == "max":
        return None
    return int(fields[0]) * 1000 // int(fields[1])


def limits():
    if version() == 2:
        memory, swap = _number(_read("memory.max")), _number(_read("memory.swap.max"))
        pids, cpu = _number(_read("pids.max")), _cpu_millis_v2()
    else:
        memory = _number(_read("memory/memory.limit_in_bytes"))
        both = _number(_read("memory/memory.memsw.limit_in_bytes"))
        swap = both - memory if both is not None and memory is not None else None
        pids, cpu = _number(_read("pids/pids.max")), _cpu_millis_v1()
    return {
        "cgroup": version(),
        "memory_bytes": memory,
        "swap_bytes": swap,
        "pids": pids,
        "cpu_millis": cpu,
        "nofile": resource.getrlimit(resource.RLIMIT_NOFILE)[1],
        "nproc": resource.getrlimit(resource.RLIMIT_NPROC)[1],
    }


class OomCounter:
    """Counts OOM kills of this container since it was last asked."""

    def __init__(self):
        name = "memory.events" if version() == 2 else "memory/memory.oom_control"
        try:
            self._fd = os.open(os.path.join(ROOT, name), os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            self._fd = -1
        self._seen = self._total()

    def _total(self):
        if self._fd < 0:
            return 0
        try:
            text = os.pread(self._fd, 4096, 0)
        except OSError:
            return 0
        for line in text.splitlines():
            if line.startswith(b"oom_kill "):
                return int(line.split()[1])
        return 0

    def peek(self):
        return self._total() - self._seen

    def since_last(self):
        total = self._total()
        killed, self._seen = total - self._seen, total
        return killed


def memory_used():
    return _number(_read("memory.current" if version() == 2 else "memory/memory.usage_in_bytes"))


def cpu_used():
    """CPU time of the container in ns, or None."""
    if version() == 2:
        for line in (_read("cpu.stat") or "").splitlines():
            if line.startswith("usage_usec "):
                return int(line.split()[1]) * 1000
        return None
    return _number(_read("cpuacct/cpuacct.usage") or _read("cpu,cpuacct/cpuacct.usage"))
