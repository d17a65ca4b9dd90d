"""Files, snapshots, checkpoints, and sessions with other clients."""
import asyncio
import gc
import warnings

import pytest

import sandcell


def log(session):
    return session.describe()["log"]


def test_files(session):
    session.put("a/b.txt", "héllo")
    session.put("c", bytearray(b"x"))
    assert log(session)[-2:] == ["put a/b.txt héllo", "put c x"]
    assert session.get("a", limit="1k") == b"a\0b"
    assert log(session)[-1] == "get a 1024"
    with pytest.raises(sandcell.SandcellError):
        session.get("missing")


def test_snapshots(session, tmp_path):
    report = session.snapshot(tmp_path / "s", exclude=["big"], compression=None, timeout=2)
    assert report == {"names": ["x"]}
    assert log(session)[-1] == f"save {tmp_path}/s exclude=big timeout=2000 flags=2"
    session.snapshot("s", compression="gzip")
    assert log(session)[-1].endswith("/s exclude=- timeout=0 flags=1")
    assert session.restore(tmp_path / "s", force=True) == {"names": ["x"]}
    assert log(session)[-1] == "restore timeout=0 flags=4"
    with pytest.raises(sandcell.DataError):
        session.restore("bad")
    with pytest.raises(sandcell.InvalidArgumentError, match="compression"):
        session.snapshot("s", compression="lzma")


def test_checkpoints(session):
    point = session.checkpoint()
    assert point == (3, {"children": 0})
    session.rollback(point)
    session.rollback(4)
    session.drop_checkpoint(point)
    assert log(session)[-3:] == ["rollback 3", "rollback 4", "drop 3"]


def test_fork_is_a_session_with_the_same_options(fake):
    with sandcell.Session("img", memory="1g", timeout=5) as session:
        with session.fork(timeout=7) as other:
            assert log(session)[-1].startswith("save /")
            assert log(other)[0].startswith("open image=img ")
            assert f"memory={1 << 30} cpus=0 timeout=7000" in log(other)[0]
            assert log(other)[-1] == "restore timeout=0 flags=0"
            assert fake.live()["sessions"] == 2


def test_attached_session_is_left_when_the_block_ends(fake):
    closed = fake.closed
    with sandcell.Session.attach("mine", timeout=3, lease=60, observe=True) as session:
        assert log(session) == ["attach mine timeout=3000 lease=60000 flags=1"]
        assert session.execute("value 1").output == 1
        with pytest.raises(sandcell.InvalidArgumentError, match="fork"):
            session.fork()
    assert session.closed and fake.closed == closed and fake.live()["sessions"] == 0
    with sandcell.Session.attach("mine") as session:
        session.close()
    assert fake.closed == closed + 1


def test_attached_session_is_forgotten_without_a_word(fake):
    closed = fake.closed
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        session = sandcell.Session.attach("mine")
        del session
        gc.collect()
    assert fake.closed == closed


def test_attach_keywords_are_the_options_fields():
    from sandcell._options import AttachKeywords

    fields = sandcell.AttachOptions.__dataclass_fields__
    assert list(AttachKeywords.__annotations__) == list(fields)
    for name in fields:
        assert f"``{name}``" in sandcell.AttachOptions.__doc__, name


def test_other_clients(session):
    session.set_lease(1.5)
    assert log(session)[-1] == "lease 1500"
    assert session.stat() == {"clients": 1}
    assert session.interrupt_all() == 2


def test_detached_call(session):
    call = session.execute_detached("go", timeout=9)
    assert log(session)[-1] == "detached go timeout=9000"
    pieces = []
    result = session.fetch_result(call, timeout=1, wait=False,
                                  on_output=lambda stream, data: pieces.append(data))
    assert log(session)[-1] == f"fetch {call} timeout=1000 flags=4" and call == 10**12 + 7
    assert (result.output, result.code, pieces) == (9, "code", [b"late", b"\n"])


def test_recover_and_wait_reach_the_library(session):
    session.execute("x", recover=True, wait=False)
    assert "flags=12 files=- -" in log(session)


def test_all_of_it_with_asyncio(tmp_path):
    async def main():
        async with sandcell.AsyncSession("img", pids=9) as session:
            await session.put("a", b"x")
            assert await session.get("a") == b"a\0b"
            assert await session.snapshot(tmp_path / "s") == {"names": ["x"]}
            assert await session.restore(tmp_path / "s") == {"names": ["x"]}
            point = await session.checkpoint()
            await session.rollback(point)
            await session.drop_checkpoint(point)
            await session.set_lease(2)
            assert await session.stat() == {"clients": 1}
            assert await session.interrupt_all() == 2
            call = await session.execute_detached("go", timeout=9)
            assert (await session.fetch_result(call)).output == 9
            other = await session.fork()
            assert (await other.describe())["log"][0].startswith("open image=img ")
            assert (await other.execute("value 1")).output == 1
            await other.close()
        async with sandcell.AsyncSession.attach("mine", lease=60) as session:
            assert (await session.describe())["log"] == [
                "attach mine timeout=0 lease=60000 flags=0"]
        assert session.closed

    asyncio.run(asyncio.wait_for(main(), 60))


def test_blocking_and_asyncio_sessions_have_the_same_methods():
    import inspect

    def methods(kind):
        return {name: list(inspect.signature(value).parameters)
                for name, value in vars(kind).items()
                if callable(value) and not name.startswith("_")}

    blocking, awaiting = methods(sandcell.Session), methods(sandcell.AsyncSession)
    assert set(awaiting) - set(blocking) == {"open"}
    assert {name: awaiting[name] for name in blocking} == blocking
