"""The leader of command lines: runs judged forms (policy.h), one after another, without any shell.

It is forked from the zygote with the uid of user code, in a process session of its own, and stays for the
next command line.  Programs come from fixed folders only and get a clean environment; Landlock, where the
kernel has it, leaves them one place to write, their TMPDIR.  posix_spawn, because forking a zygote full of
modules would cost more than the programs take.
"""

import json
import os
import resource
import signal
import socket
import time

from _sandcell import cgroup, drop, expand, frames

FOLDERS = ("/usr/bin", "/bin")
PATH = ":".join(FOLDERS)
# Where execve may find something: programs, and the loaders and helpers they name themselves.
EXECUTABLE = (*FOLDERS, "/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/libexec")
SCRATCH = "/tmp/.sandcell-cli"
# What every program may know; the rest of the session's variables is for echo, env and printenv.
COMMON = ("HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ", "TERM", "COLUMNS")
# What glibc refuses to set-uid programs: it loads code or reads files.
UNSAFE = (
    "GCONV_PATH", "GETCONF_DIR", "GLIBC_TUNABLES", "HOSTALIASES", "LOCALDOMAIN", "LOCPATH", "MALLOC_TRACE",
    "NIS_PATH", "NLSPATH", "RESOLV_HOST_CONF", "RES_OPTIONS", "TZDIR",
)
# ~/.jq is code to jq, ~/.magic is rules to file: user code could change what they say.
HOMELESS = ("jq", "file")
NOT_FOUND, NOT_EXECUTABLE = 127, 126
DENIED = 126
LEFTOVERS_MS = 200  # what a pipeline's leftovers may take to die


def main(control, request):
    """Takes `cli` frames from control and answers each with `done`; ends with the socket, never
    returns.  `request` may name another `scratch` folder."""
    link = socket.socket(fileno=control)
    link.set_inheritable(False)
    drop.set_dumpable(os.getuid())
    drop.prctl(drop.PR_SET_CHILD_SUBREAPER, 1)
    tmpdir = make_tmpdir(request.get("scratch", SCRATCH))
    landlock = drop.restrict_files([tmpdir] if tmpdir else [], EXECUTABLE) > 0
    reader = frames.Reader(frames.MAX_CONTENT)
    while True:
        header, form = _receive(link, reader)
        answer, error = serve(json.loads(form), tmpdir)
        answer.update(type="done", id=header["id"], landlock=landlock, parts=[["error", len(error)]])
        link.sendall(frames.pack(answer, error))


def _receive(link, reader):
    while True:
        frame = reader.next()
        if frame:
            return frame
        data = link.recv(65536)
        if not data:
            os._exit(0)
        reader.feed(data)


def serve(form, tmpdir):
    """Runs one command line; (fields of the answer, error text).  Not reusable: this leader's place to
    write is gone, or something of the pipeline would not die."""
    there = tmpdir is not None and os.path.isdir(tmpdir)
    variables = session_variables(dict(os.environ), os.getcwd(), tmpdir if there else None)
    try:
        exit_code, stages, error = run(form["pipelines"], variables)
        reusable = end_leftovers()
    finally:
        if there:
            empty(tmpdir)
    answer = {"exit_code": exit_code, "stages": stages, "reusable": there and reusable}
    return answer, error.encode("utf-8", "backslashreplace")


def run(pipelines, variables, folders=FOLDERS):
    """(exit code, exit codes of the stages that ran, error text)."""
    stages = []
    for pipeline in pipelines:
        try:
            argvs = [expand.words(command["argv"], variables) for command in pipeline]
        except expand.ExpandError as error:
            return DENIED, stages, "Command not run: %s" % error
        stages += run_pipeline(argvs, variables, folders)
        if stages[-1] != 0:
            break
    return stages[-1], stages, ""


# ---- the surroundings


def session_variables(environment, cwd, tmpdir):
    variables = {
        name: value
        for name, value in environment.items()
        if name not in UNSAFE and not name.startswith("LD_")
    }
    variables["PATH"] = PATH
    variables["PWD"] = cwd
    variables.pop("OLDPWD", None)
    variables.pop("TMPDIR", None)
    if tmpdir:
        variables["TMPDIR"] = tmpdir
    return variables


def program_environment(name, variables):
    """The session's variables only for those who display them: POSIXLY_CORRECT and the like would change
    how others read the options that were judged."""
    if name in ("env", "printenv"):
        return variables
    kept = {
        key: value
        for key, value in variables.items()
        if key in COMMON or key.startswith("LC_") or key in ("PATH", "PWD", "TMPDIR")
    }
    if name in HOMELESS:
        kept["HOME"] = "/nonexistent"
    return kept


def make_tmpdir(scratch):
    """A private TMPDIR, or None where none can be made.  Removes what killed leaders left."""
    try:
        os.makedirs(scratch, 0o700, exist_ok=True)
        if os.path.islink(scratch):
            return None
        mine = str(os.getpid())
        for name in os.listdir(scratch):
            if name == mine or not os.path.exists("/proc/" + name):
                empty(os.path.join(scratch, name))
                os.rmdir(os.path.join(scratch, name))
        tmpdir = os.path.join(scratch, mine)
        os.mkdir(tmpdir, 0o700)
        return tmpdir
    except OSError:
        return None


def empty(folder):
    """Removes what is in a folder; what can't be removed stays."""
    found = [folder]
    for path in found:  # grows while it is read: folders before what is in them
        try:
            for entry in os.scandir(path):
                if entry.is_dir(follow_symlinks=False):
                    found.append(entry.path)
                else:
                    os.unlink(entry.path)
        except OSError:
            continue
    for path in reversed(found[1:]):
        try:
            os.rmdir(path)
        except OSError:
            continue


def bound_sort():
    """sort sizes its buffer by the host's memory unless RLIMIT_RSS, which limits nothing, says less."""
    limit = cgroup.limits()["memory_bytes"]
    if limit is None:
        return
    free = max(limit - (cgroup.memory_used() or 0), 0)
    hard = resource.getrlimit(resource.RLIMIT_RSS)[1]
    want = max(free // 2, limit // 8, 1 << 20)
    if hard == resource.RLIM_INFINITY or want <= hard:
        resource.setrlimit(resource.RLIMIT_RSS, (want, hard))


# ---- one pipeline


def run_pipeline(argvs, variables, folders):
    """Exit codes in order.  All stages of a pipeline share a process group."""
    if any(argv[0] == b"sort" for argv in argvs):
        bound_sort()
    group = 0
    stages = []  # a pid, or an exit code that came at once
    previous = -1
    for index, argv in enumerate(argvs):
        reading, writing = os.pipe() if index + 1 < len(argvs) else (-1, -1)
        pid, code = _start(argv, variables, folders, previous, writing, group)
        group = group or pid
        stages.append((pid, code))
        for fd in (previous, writing):
            if fd >= 0:
                os.close(fd)
        previous = reading
    return [_wait(pid) if pid else code for pid, code in stages]


def _start(argv, variables, folders, stdin, stdout, group):
    """(pid, 0), or (0, exit code) as a shell reports what it can't start."""
    name = argv[0].decode()
    try:
        if name == "which":
            return _fork_which(argv, folders, stdout, group), 0
        for folder in folders:
            path = folder + "/" + name
            if os.access(path, os.X_OK):
                return _spawn(path, argv, program_environment(name, variables), stdin, stdout, group), 0
    except OSError as error:
        _complain(name, error.strerror)
        return 0, NOT_EXECUTABLE
    _complain(name, "not in this image")
    return 0, NOT_FOUND


def _spawn(path, argv, environment, stdin, stdout, group):
    moves = [(os.POSIX_SPAWN_DUP2, fd, target) for target, fd in enumerate((stdin, stdout)) if fd >= 0]
    return os.posix_spawn(
        path, argv, environment, file_actions=moves, setpgroup=group, setsigmask=(), setsigdef=DEFAULTS
    )


# Python ignores some signals, and a child would inherit that.
DEFAULTS = sorted(signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP})


def _complain(name, reason):
    os.write(2, b"sandcell: %s: %s\n" % (name.encode(), reason.encode()))


def _wait(pid):
    status = os.waitpid(pid, 0)[1]
    return 128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def end_leftovers():
    """Kills what a program started and left behind; orphans become children of this process.  False:
    something lives on."""
    deadline = None
    while True:
        try:
            pid, _status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return True
        if pid:
            continue
        now = time.monotonic()
        deadline = deadline or now + LEFTOVERS_MS / 1000
        if now > deadline:
            return False
        for child in _children():
            os.kill(child, signal.SIGKILL)
        time.sleep(0.0005)


def _children():
    try:
        with open("/proc/thread-self/children") as file:
            return [int(pid) for pid in file.read().split()]
    except OSError:
        return []


# ---- which: a shell script in Debian, so it is done here


def _fork_which(argv, folders, stdout, group):
    pid = os.fork()
    if pid:
        try:
            os.setpgid(pid, group)
        except OSError:
            pass  # it did so itself and is gone
        return pid
    code = 1
    try:
        os.setpgid(0, group)
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        if stdout >= 0:
            os.dup2(stdout, 1)
        code = which(argv[1:], folders)
    finally:
        os._exit(code)


def which(words, folders):
    every = False
    while words and words[0].startswith(b"-") and len(words[0]) > 1:
        option = words[0]
        words = words[1:]
        if option == b"--":
            break
        every = True  # -a, the only one
    code = 0 if words else 1
    for word in words:
        places = [word] if b"/" in word else [os.path.join(os.fsencode(folder), word) for folder in folders]
        found = [path for path in places if word and os.path.isfile(path) and os.access(path, os.X_OK)]
        code = code if found else 1
        os.write(1, b"".join(path + b"\n" for path in (found if every else found[:1])))
    return code
