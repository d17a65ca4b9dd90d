"""Scripts: what `python FILE ARGS` sees, and how a program ends."""


def seen(kernel, **fields):
    code = "import sys; print(sys.argv, sys.path[0], globals().get('__file__'))"
    return kernel.execute(code, **fields).stdout.decode()


def test_script_sees_its_name_folder_and_arguments(kernel, tmp_path):
    assert seen(kernel, script="/data/job.py", args=["a", "-b"]) == (
        "['/data/job.py', 'a', '-b'] /data /data/job.py\n"
    )
    assert seen(kernel, script="job.py") == f"['job.py'] {tmp_path} job.py\n"
    assert seen(kernel) == "['']  None\n"


def test_code_without_a_file_has_arguments_and_a_value(kernel):
    for script, name in (("-c", "<string>"), ("-", "<stdin>")):
        assert seen(kernel, script=script, args=["a"]) == f"['{script}', 'a']  None\n"
        assert kernel.execute("1 + 1", script=script).output == 2
        error = kernel.execute("x = 1\n1 / 0", script=script, args=["a"]).error
        assert f'File "{name}", line 2, in <module>\n    1 / 0' in error
    assert kernel.execute("__import__('sys').argv").output == [""]


ENDS = """
import atexit, threading
from concurrent.futures import ThreadPoolExecutor
started = threading.Event()
atexit.register(lambda: print("exit"))
def work():
    started.wait()
    print("thread")
threading.Thread(target=work).start()
threading.Thread(target=threading.Event().wait, daemon=True).start()
pool = ThreadPoolExecutor(1)
pool.submit(print, "pool").result()
threading.Timer(0.05, started.set).start()
print("main")
"""


def test_program_ends_after_its_threads_and_exit_functions(kernel):
    result = kernel.execute(ENDS, script="job.py", program=True)
    assert (result.status, result.stdout) == ("ok", b"pool\nmain\nthread\nexit\n")


def test_call_that_is_no_program_waits_for_no_thread(kernel):
    result = kernel.execute("import threading; threading.Thread(target=threading.Event().wait).start()")
    assert result.status == "ok"


def test_program_that_fails_ends_the_same_way(kernel):
    result = kernel.execute(ENDS + "raise SystemExit(3)", script="job.py", program=True)
    assert (result.status, result.exit_code) == ("exited", 3)
    assert result.stdout.endswith(b"thread\nexit\n")


def test_interrupt_ends_the_wait_for_a_thread(kernel):
    number = kernel.start(
        "import threading; threading.Thread(target=threading.Event().wait).start()\n"
        "print('begun', flush=True)",
        program=True,
    )
    kernel.wait_for_output(b"begun\n")
    kernel.interrupt()
    result = kernel.wait(number)
    # Since 3.13 threading itself reports the interrupt, on stderr, and goes on.
    assert "KeyboardInterrupt" in result.error + result.stderr.decode()
