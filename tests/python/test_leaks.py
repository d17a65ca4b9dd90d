"""Nothing is left, of the library's objects or of ours, however calls end."""
import asyncio
import gc
import os
import tracemalloc

import pytest

import sandcell

EVERYTHING = "value [1]\nprint x\nwarn y\ndisplay text/html <b>x</b>"


@pytest.fixture(autouse=True)
def balanced(fake):
    gc.collect()
    before = fake.live()
    yield
    gc.collect()
    after = fake.live()
    # The default engine stays.
    assert {**after, "engines": 0} == {**before, "engines": 0}


def endings(session):
    session.execute(EVERYTHING)
    session.execute("raise X", timeout=5, stdin="x", args=["a"])
    session.execute_cli("ls")
    session.reset()
    for failing in ("fail -3", "fail -5"):
        with pytest.raises(sandcell.SandcellError):
            session.execute(failing)
    session.execute(EVERYTHING, on_output=lambda stream, data: None)
    with pytest.raises(ZeroDivisionError):
        session.execute(EVERYTHING, on_output=lambda stream, data: 1 / 0)
    list(session.stream(EVERYTHING))
    for _ in session.stream("print a\nblock 60000"):
        break


def test_library_objects_are_freed(fake):
    with sandcell.Session() as session:
        endings(session)
        endings(session)
    assert fake.live()["sessions"] == 0


def test_own_engines_are_freed(fake):
    before = fake.live()["engines"]
    engine = sandcell.Engine("unix:///x", on_log=lambda line: None)
    with sandcell.Session(engine=engine) as session:
        del engine
        gc.collect()
        assert session.execute("value 1").output == 1
    gc.collect()
    assert fake.live()["engines"] == before


async def async_endings(session):
    await session.execute(EVERYTHING)
    await session.execute(EVERYTHING, on_output=lambda stream, data: None)
    with pytest.raises(ZeroDivisionError):
        await session.execute(EVERYTHING, on_output=lambda stream, data: 1 / 0)
    with pytest.raises(sandcell.EngineError):
        await session.execute("fail -5")
    task = asyncio.ensure_future(session.execute("block 60000"))
    await asyncio.sleep(0.02)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    async for _ in session.stream(EVERYTHING):
        pass


def test_library_objects_of_async_sessions_are_freed(fake):
    async def main():
        async with sandcell.AsyncSession() as session:
            await async_endings(session)

    asyncio.run(main())
    assert fake.live()["sessions"] == 0


def test_memory_does_not_grow(fake):
    def grown(rounds):
        before = tracemalloc.get_traced_memory()[0]
        with sandcell.Session() as session:
            for _ in range(rounds):
                endings(session)
        gc.collect()
        return tracemalloc.get_traced_memory()[0] - before

    tracemalloc.start()
    try:
        grown(20)
        assert grown(100) < 100_000
    finally:
        tracemalloc.stop()


def test_threads_do_not_grow(fake):
    async def main():
        for _ in range(50):
            async with sandcell.AsyncSession() as session:
                await session.execute("value 1")

    asyncio.run(main())
    before = len(os.listdir("/proc/self/task"))
    asyncio.run(main())
    assert len(os.listdir("/proc/self/task")) <= before
