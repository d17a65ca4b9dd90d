"""Files, snapshots, checkpoints, and sessions that several processes use."""
import asyncio
import os
import subprocess
import sys
import time
import uuid

import pytest

import sandcell

TEXT = "x = [1, {'a': 'é'}]\ndef double(n): return 2 * n\nimport math"


def test_files_in_and_out(fresh):
    content = os.urandom(300_000)
    fresh.put("deep/er/data.bin", content)
    assert fresh.execute("open('deep/er/data.bin', 'rb').read(4).hex()").output == content[:4].hex()
    assert fresh.get("deep/er/data.bin") == content
    fresh.put("/tmp/note", "héllo")
    assert fresh.get("/tmp/note").decode() == "héllo"
    with pytest.raises(sandcell.SandcellError, match="no-such-file"):
        fresh.get("no-such-file")
    with pytest.raises(sandcell.SandcellError, match="more than 1000 bytes"):
        fresh.get("deep/er/data.bin", limit=1000)


def test_snapshot_moves_the_state_to_another_session(fresh, tmp_path):
    fresh.execute(TEXT + "\nopen_file = open('/dev/null')")
    path = tmp_path / "state"
    report = fresh.snapshot(path, exclude=["math"])
    assert {"x", "double"} <= {saved["name"] for saved in report["names"]}
    assert "open_file" in str(report["skipped"])
    told = sandcell.inspect_snapshot(path)
    assert told["manifest"]["python"].startswith("3.")
    with sandcell.Session(memory="256m") as other:
        other.execute("old = 1")
        other.restore(path)
        assert other.execute("[x, double(21), 'old' in globals()]").output == [
            [1, {"a": "é"}], 42, False]
    assert fresh.execute("double(4)").output == 8


def test_damaged_snapshot_changes_nothing(fresh, tmp_path):
    fresh.execute("x = 1")
    path = tmp_path / "state"
    fresh.snapshot(path, compression=None)
    path.write_bytes(path.read_bytes()[:-1000])
    fresh.execute("x = 2")
    with pytest.raises(sandcell.DataError):
        fresh.restore(path)
    with pytest.raises(sandcell.DataError):
        sandcell.inspect_snapshot(path)
    assert fresh.execute("x").output == 2


def test_fork_goes_its_own_way(fresh):
    fresh.execute(TEXT)
    with fresh.fork() as other:
        other.execute("x = 'other'")
        assert other.execute("double(3)").output == 6
        assert other.container != fresh.container
    assert fresh.execute("x").output == [1, {"a": "é"}]


def test_checkpoint_and_rollback(fresh):
    fresh.execute("x = 1\nnumbers = (n for n in range(10))\nnext(numbers)")
    point = fresh.checkpoint()
    fresh.execute("x = 2; next(numbers); del numbers")
    fresh.rollback(point)
    assert fresh.execute("[x, next(numbers)]").output == [1, 1]
    fresh.rollback(point.id)
    assert fresh.execute("[x, next(numbers)]").output == [1, 1]
    fresh.drop_checkpoint(point)
    with pytest.raises(sandcell.SandcellError):
        fresh.rollback(point)


def test_crash_can_be_recovered_from(fresh):
    fresh.execute("x = 1")
    result = fresh.execute("x = 2\nimport os\nos._exit(3)", recover=True)
    assert result.state_preserved and not result.success
    assert fresh.execute("x").output == 1


def test_named_session_is_used_by_another_process():
    name = f"test-{uuid.uuid4().hex[:12]}"
    with sandcell.Session(name=name, memory="256m") as session:
        session.execute("x = 1")
        program = (f"import sandcell\nwith sandcell.Session.attach({name!r}) as s:\n"
                   "    print(s.execute('x').output); s.execute('x = 2')")
        done = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, check=True,
                              env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
        assert done.stdout == b"1\n"
        assert session.execute("x").output == 2
        assert session.stat()["clients"] == 1
    with pytest.raises(sandcell.NotFoundError):
        sandcell.Session.attach(name)


def test_detached_call_goes_on_without_its_client():
    name = f"test-{uuid.uuid4().hex[:12]}"
    session = sandcell.Session(name=name, memory="256m", lease=60)
    call = session.execute_detached("import time\ntime.sleep(.5)\nprint('late')\n7", timeout=30)
    session.detach()
    with sandcell.Session.attach(name) as again:
        try:
            result = again.fetch_result(call)
            assert (result.output, result.stdout) == (7, "late\n")
            running = again.execute_detached("import time; time.sleep(60)", timeout=70)
            with pytest.raises(sandcell.BusyError):
                again.fetch_result(running, wait=False)
            with pytest.raises(sandcell.DeadlineError):
                again.fetch_result(running, timeout=0.1)
            assert again.interrupt_all() == 1
            assert again.fetch_result(running).status == "interrupted"
        finally:
            again.close()


def test_state_with_asyncio(tmp_path):
    async def main():
        async with sandcell.AsyncSession(memory="256m") as session:
            await session.execute("x = 5")
            await session.put("a.txt", "y")
            assert await session.get("a.txt") == b"y"
            point = await session.checkpoint()
            await session.execute("x = 6")
            await session.rollback(point)
            other = await session.fork()
            try:
                assert (await other.execute("x")).output == 5
            finally:
                await other.close()

    asyncio.run(asyncio.wait_for(main(), 120))


def test_ctrl_c_stops_a_snapshot(fresh, tmp_path):
    import signal
    import threading

    fresh.execute("import os\nbig = os.urandom(200 << 20)")
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    began = time.monotonic()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        while time.monotonic() < began + 60:
            fresh.snapshot(tmp_path / "s", compression="gzip")
    timer.join()
    assert fresh.execute("len(big)").output == 200 << 20
