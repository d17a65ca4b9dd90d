"""checkpoint, rollback and recover through a real container."""

import json

import pytest


@pytest.fixture
def fresh(cell):
    assert cell.client.call("reset").status == "ok"
    return cell


def checkpoint(client):
    outcome = client.call("checkpoint")
    assert outcome.status == "ok", outcome
    return outcome.header["checkpoint"], json.loads(outcome.parts["report"])


def rollback(client, number):
    outcome = client.call("rollback", checkpoint=number)
    assert outcome.status == "ok", outcome
    assert outcome.header["state_preserved"] is True


def test_what_cannot_be_pickled_comes_back_too(fresh):
    fresh.run(
        "import threading\n"
        "gen = (i * i for i in range(10)); next(gen); next(gen)\n"
        "lock = threading.Lock(); lock.acquire()\n"
        "def count():\n    n = 0\n    while True:\n        n += 1\n        yield n\n"
        "c = count(); next(c); data = {'a': [1]}"
    )
    number, report = checkpoint(fresh.client)
    assert report == {"children": [], "sockets": 0, "shared_maps": []}
    fresh.run("next(gen); next(c); data['a'].append(2); lock.release(); new = 1")
    rollback(fresh.client, number)
    assert fresh.run("[next(gen), next(c), data, lock.locked(), 'new' in globals()]").output == (
        '[4, 2, {"a": [1]}, true, false]'
    )


def test_a_checkpoint_can_be_used_again(fresh):
    fresh.run("x = 0")
    number, _ = checkpoint(fresh.client)
    for _ in range(5):
        fresh.run("x += 1")
        rollback(fresh.client, number)
        assert fresh.run("x").output == "0"


def test_checkpoints_nest(fresh):
    fresh.run("x = [0]")
    numbers = []
    for i in range(1, 4):
        numbers.append(checkpoint(fresh.client)[0])
        fresh.run("x.append(%d)" % i)
    rollback(fresh.client, numbers[1])
    assert fresh.run("x").output == "[0, 1]"
    again = checkpoint(fresh.client)[0]
    fresh.run("x.append('other')")
    rollback(fresh.client, numbers[2])
    assert fresh.run("x").output == "[0, 1, 2]"
    rollback(fresh.client, again)
    assert fresh.run("x").output == "[0, 1]"
    rollback(fresh.client, numbers[0])
    assert fresh.run("x").output == "[0]"


def test_output_and_signals_work_after_a_rollback(fresh):
    fresh.run("import os, sys, time")
    number, _ = checkpoint(fresh.client)
    rollback(fresh.client, number)
    result = fresh.run("print('out'); os.write(1, b'raw\\n'); print('err', file=sys.stderr); os.system('echo sh')")
    assert result.out[1] == b"out\nraw\nsh\n"
    assert result.out[2] == b"err\n"
    result = fresh.run("time.sleep(1000)", timeout_ms=100)
    assert result.status == "timeout"
    assert result.header["state_preserved"] is True
    assert fresh.run("input()").status == "error"
    assert fresh.run("await_me = 1\nimport asyncio\nawait asyncio.sleep(0)\n5").output == "5"


def test_the_end_of_a_revived_kernel_is_told_like_any_other(fresh):
    number, _ = checkpoint(fresh.client)
    rollback(fresh.client, number)
    result = fresh.run("import os; os.kill(os.getpid(), 11)")
    assert (result.status, result.header["signal"]) == ("signaled", 11)
    assert fresh.run("1").output == "1"
    rollback(fresh.client, number)
    assert fresh.run("import os; os._exit(3)").header["exit_code"] == 3


def test_offsets_and_random_numbers_come_back(fresh):
    fresh.run(
        "import random, tempfile\n"
        "f = tempfile.TemporaryFile('w+b', buffering=0); f.write(b'0123456789'); f.seek(4)\n"
        "random.seed(3); random.random()"
    )
    number, _ = checkpoint(fresh.client)
    first = fresh.run("[f.tell(), f.read(3).decode(), random.random(), random.random()]").output
    for _ in range(2):
        rollback(fresh.client, number)
        assert fresh.run("[f.tell(), f.read(3).decode(), random.random(), random.random()]").output == first


def test_threads_make_a_checkpoint_unsafe(fresh):
    fresh.run("import threading; e = threading.Event(); t = threading.Thread(target=e.wait, name='waiter'); t.start()")
    outcome = fresh.client.call("checkpoint")
    assert outcome.status == "error"
    assert "waiter" in outcome.error
    assert outcome.header["state_preserved"] is True
    fresh.run("e.set(); t.join()")
    assert fresh.client.call("checkpoint").status == "ok"


def test_native_threads_make_a_checkpoint_unsafe(fresh):
    fresh.run(
        "import ctypes, time\n"
        "libc = ctypes.CDLL(None)\n"
        "thread = ctypes.c_ulong()\n"
        "libc.pthread_create(ctypes.byref(thread), None, ctypes.cast(libc.pause, ctypes.c_void_p), None)"
    )
    outcome = fresh.client.call("checkpoint")
    assert outcome.status == "error"
    assert "threads of a library" in outcome.error


def test_what_will_not_come_back_is_said(fresh):
    fresh.run(
        "import mmap, socket, subprocess\n"
        "s = socket.socketpair(); m = mmap.mmap(-1, 4096); p = subprocess.Popen(['sleep', '1000'])"
    )
    _, report = checkpoint(fresh.client)
    assert report["sockets"] == 2
    assert len(report["children"]) == 1
    assert len(report["shared_maps"]) == 1


def test_a_copy_keeps_no_pipe_open(fresh):
    fresh.run("import subprocess; p = subprocess.Popen(['cat'], stdin=subprocess.PIPE, stdout=subprocess.PIPE)")
    checkpoint(fresh.client)
    result = fresh.run("p.communicate(b'x', timeout=20)[0].decode()", timeout_ms=30000)
    assert result.output == '"x"'


def test_a_rollback_ends_what_came_after(fresh):
    number, _ = checkpoint(fresh.client)
    fresh.run("import subprocess; p = subprocess.Popen(['sleep', '1000'], start_new_session=True)")
    rollback(fresh.client, number)
    assert fresh.client.call("stat").header["processes"] == 2


def test_copies_survive_a_timeout(fresh):
    fresh.run("x = 1")
    number, _ = checkpoint(fresh.client)
    code = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass"
    assert fresh.run(code, timeout_ms=100, grace_ms=100).header["state_preserved"] is False
    rollback(fresh.client, number)
    assert fresh.run("x").output == "1"


def test_their_number_is_bounded(fresh):
    numbers = [checkpoint(fresh.client)[0] for _ in range(10)]
    assert fresh.client.call("stat").header["processes"] == 9
    outcome = fresh.client.call("rollback", checkpoint=numbers[0])
    assert outcome.status == "error"
    assert "no checkpoint" in outcome.error
    rollback(fresh.client, numbers[2])


def test_forget_and_reset_end_copies(fresh):
    number, _ = checkpoint(fresh.client)
    checkpoint(fresh.client)
    assert fresh.client.call("forget", checkpoint=number).status == "ok"
    assert fresh.client.call("forget", checkpoint=number).status == "error"
    assert fresh.client.call("stat").header["processes"] == 2
    fresh.client.call("reset")
    fresh.run("1")
    assert fresh.client.call("stat").header["processes"] == 1


def test_recover_goes_back_to_before_the_call(fresh):
    fresh.run("x = {'a': 1}; gen = iter(range(5)); next(gen)")
    for code, status in (
        ("x['a'] = 2; import os; os.kill(os.getpid(), 11)", "signaled"),
        ("x['a'] = 3; import os; os._exit(4)", "exited"),
        ("x['a'] = 4; import ctypes; ctypes.string_at(0)", "signaled"),
    ):
        result = fresh.run("print('seen');" + code, recover="last")
        assert result.status == status
        assert result.header["state_preserved"] is True
        assert result.header["rolled_back"] is True
        assert result.out[1] == b"seen\n"
        assert "variables are as they were before it" in result.error
        assert fresh.run("x").output == '{"a": 1}'
    assert fresh.run("next(gen)").output == "1"
    assert fresh.client.call("stat").header["processes"] == 1


def test_recover_after_a_kill_for_time(fresh):
    fresh.run("x = 1; import signal")
    result = fresh.run(
        "x = 2\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass",
        recover="last", timeout_ms=300, grace_ms=100,
    )  # fmt: skip
    assert result.status == "timeout"
    assert result.header["rolled_back"] is True
    assert fresh.run("x").output == "1"


def test_recover_after_out_of_memory(fresh):
    fresh.run("x = 1; big = bytearray(60 << 20)")
    result = fresh.run("x = 2\nmore = [bytearray(b'x' * (50 << 20)) for _ in range(20)]", recover="last")
    assert result.status == "oom"
    assert result.header["rolled_back"] is True
    assert fresh.run("[x, len(big)]").output == "[1, 62914560]"


def test_recover_costs_nothing_when_all_goes_well(fresh):
    result = fresh.run("y = 5\ny", recover="last")
    assert result.output == "5"
    assert "rolled_back" not in result.header
    assert fresh.client.call("stat").header["processes"] == 1


def test_recover_is_refused_where_threads_run(fresh):
    fresh.run("import threading; e = threading.Event(); t = threading.Thread(target=e.wait, daemon=True); t.start()")
    result = fresh.run("import os; os._exit(1)", recover="last")
    assert result.status == "exited"
    assert result.header["state_preserved"] is False
    assert "threads are running" in result.header["recover_refused"]


def test_a_snapshot_of_a_revived_kernel(fresh):
    import streams

    fresh.run("x = [1]")
    number, _ = checkpoint(fresh.client)
    rollback(fresh.client, number)
    data, outcome = streams.download(fresh.client, "snapshot")
    assert outcome.status == "ok"
    fresh.run("x = 2")
    upload = streams.Upload(fresh.client, "restore")
    upload.send(data)
    assert upload.end().status == "ok"
    assert fresh.run("x").output == "[1]"
    assert fresh.client.call("rollback", checkpoint=number).status == "error"


def test_calls_wait_for_a_rollback(fresh):
    fresh.run("x = 1")
    number, _ = checkpoint(fresh.client)
    fresh.run("x = 2")
    first = fresh.client.send("rollback", checkpoint=number)
    second = fresh.client.start("x")
    assert fresh.client.wait(first).status == "ok"
    assert fresh.client.wait(second).output == "1"
