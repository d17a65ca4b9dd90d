"""The asyncio API."""
import asyncio
import contextlib
import time

import pytest

import sandcell


def run(main):
    return asyncio.run(asyncio.wait_for(main, 60))


@contextlib.asynccontextmanager
async def closing(iterator):
    try:
        yield iterator
    finally:
        await iterator.aclose()


async def log(session):
    return (await session.describe())["log"]


def test_calls(fake):
    async def main():
        async with sandcell.AsyncSession(memory="1g") as session:
            result = await session.execute("value 1\nprint x")
            assert (result.output, result.stdout) == (1, "x\n")
            assert (await session.execute_cli("ls")).stdout == "ok\n"
            await session.reset()
            assert "reset" in await log(session)
        assert session.closed
        with pytest.raises(sandcell.SessionClosedError):
            await session.execute("value 1")
        await session.close()

    before = fake.closed
    run(main())
    assert fake.closed == before + 1


def test_questions():
    async def main():
        async with sandcell.AsyncSession() as session:
            assert await session.names() == [{"name": "x"}]
            assert await session.complete("abc") == [3, 3]
            with pytest.raises(sandcell.SessionGoneError):
                await session.history()

    run(main())


def test_first_call_opens(fake):
    async def main():
        session = sandcell.AsyncSession()
        assert fake.live()["sessions"] == 0
        results = await asyncio.gather(*(session.execute(f"value {n}") for n in range(5)))
        assert [r.output for r in results] == list(range(5))
        assert fake.live()["sessions"] == 1
        await session.close()

    run(main())


def test_open_that_failed_can_be_tried_again(fake):
    async def main():
        session = sandcell.AsyncSession()
        fake.set(open_code=-7)
        with pytest.raises(sandcell.NotFoundError):
            await session.execute("value 1")
        fake.set(open_code=0)
        assert (await session.execute("value 1")).output == 1
        await session.close()

    run(main())


def test_calls_take_turns_in_order():
    async def main():
        async with sandcell.AsyncSession() as session:
            await asyncio.gather(*(session.execute(f"block 1\nvalue {n}") for n in range(20)))
            assert await log(session) == [
                *(await log(session))[:1], *["execute block 1"] * 20]

    run(main())


def test_cancelled_task_interrupts_the_code_and_no_other_call():
    async def main():
        async with sandcell.AsyncSession() as session:
            task = asyncio.ensure_future(session.execute("block 60000"))
            after = asyncio.ensure_future(session.execute("block 50\nvalue 2"))
            await asyncio.sleep(0.05)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            result = await after
            assert (result.status, result.output) == ("ok", 2)

    run(main())


def test_cancelled_while_waiting_for_its_turn():
    async def main():
        async with sandcell.AsyncSession() as session:
            first = asyncio.ensure_future(session.execute("block 200\nvalue 1"))
            second = asyncio.ensure_future(session.execute("value 2"))
            await asyncio.sleep(0.02)
            second.cancel()
            assert (await first).output == 1
            assert "execute value 2" not in await log(session)

    run(main())


def test_cancelled_at_any_moment_leaves_the_session_usable():
    async def main():
        async with sandcell.AsyncSession() as session:
            for step in range(300):
                task = asyncio.ensure_future(session.execute("block 60000"))
                await asyncio.sleep(step * 2e-6)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
            assert (await session.execute("value 7")).output == 7

    run(main())


def test_timeout_of_the_caller(fake):
    async def main():
        async with sandcell.AsyncSession() as session:
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(session.execute("block 60000"), 0.05)
            assert (await session.execute("value 7")).output == 7

    run(main())


def test_cancelled_opening_leaves_nothing(fake):
    async def main():
        fake.set(open_ms=60000)
        task = asyncio.ensure_future(sandcell.AsyncSession().open())
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(main())
    assert fake.live()["sessions"] == 0


def test_close_while_a_call_runs(fake):
    async def main():
        session = sandcell.AsyncSession()
        await session.open()
        running = asyncio.ensure_future(session.execute("block 60000"))
        queued = asyncio.ensure_future(session.execute("value 1"))
        await asyncio.sleep(0.05)
        await session.close()
        assert (await running).status == "interrupted"
        with pytest.raises(sandcell.SessionClosedError):
            await queued

    run(main())
    assert fake.live()["sessions"] == 0


def test_close_while_it_opens(fake):
    async def main():
        fake.set(open_ms=60000)
        session = sandcell.AsyncSession()
        call = asyncio.ensure_future(session.execute("value 1"))
        await asyncio.sleep(0.05)
        await session.close()
        with pytest.raises(sandcell.SessionClosedError):
            await call

    run(main())
    assert fake.live()["sessions"] == 0


def test_interrupt():
    async def main():
        async with sandcell.AsyncSession() as session:
            asyncio.get_running_loop().call_later(0.05, session.interrupt)
            assert (await session.execute("block 60000")).status == "interrupted"

    run(main())


@pytest.mark.parametrize("awaited", [True, False])
def test_output_arrives_in_the_loop_before_the_result(awaited):
    async def main():
        loop = asyncio.get_running_loop()
        pieces = []

        def on_output(stream, data):
            assert asyncio.get_running_loop() is loop
            pieces.append((stream, data))

        async def on_output_awaited(stream, data):
            await asyncio.sleep(0)
            on_output(stream, data)

        async with sandcell.AsyncSession() as session:
            await session.execute(
                "print a\nwarn b", on_output=on_output_awaited if awaited else on_output)
        assert pieces == [("stdout", b"a"), ("stdout", b"\n"),
                          ("stderr", b"b"), ("stderr", b"\n")]

    run(main())


def test_callback_that_raises_stops_the_call():
    async def main():
        async with sandcell.AsyncSession() as session:
            with pytest.raises(ZeroDivisionError):
                await session.execute("print a\nblock 60000", on_output=lambda *_: 1 / 0)
            assert (await session.execute("value 1")).output == 1

    run(main())


def test_slow_reader_slows_the_code_down():
    async def main():
        total = 0

        async def on_output(stream, data):
            nonlocal total
            total += len(data)
            await asyncio.sleep(0)

        async with sandcell.AsyncSession() as session:
            await session.execute(f"spew {30 << 20}", on_output=on_output)
        assert total == 30 << 20

    run(main())


def test_stream():
    async def main():
        async with sandcell.AsyncSession() as session:
            pieces = [piece async for piece in session.stream("print a\nvalue 1")]
            assert [p.text for p in pieces[:-1]] == ["a", "\n"]
            assert pieces[-1].output == 1
            with pytest.raises(sandcell.EngineError):
                async for _ in session.stream("print a\nfail -5"):
                    pass

    run(main())


def test_stream_left_early_interrupts_the_code():
    async def main():
        async with sandcell.AsyncSession() as session:
            async with closing(session.stream("print a\nblock 60000")) as pieces:
                async for piece in pieces:
                    assert piece.text == "a"
                    break
            assert (await session.execute("value 1")).output == 1

    run(main())


def test_session_in_a_second_loop(fake):
    session = sandcell.AsyncSession()
    assert run(session.execute("value 1")).output == 1
    assert run(session.execute("value 2")).output == 2
    run(session.close())


def test_loop_is_never_blocked_by_fifty_sessions(fake):
    """And no result is lost, or given to another session."""
    gaps = []

    async def tick():
        while True:
            began = time.monotonic()
            await asyncio.sleep(0.001)
            gaps.append(time.monotonic() - began)

    async def work(number):
        async with sandcell.AsyncSession() as session:
            return [(await session.execute(f"block 5\nvalue {number * 100 + n}")).output
                    for n in range(20)]

    async def main():
        ticking = asyncio.ensure_future(tick())
        results = await asyncio.gather(*(work(number) for number in range(50)))
        ticking.cancel()
        assert results == [[number * 100 + n for n in range(20)] for number in range(50)]

    fake.set(open_ms=100, close_ms=50)
    run(main())
    # A call that blocked the loop would stop it for as long as it takes, again and again;
    # a busy machine may do so once in a while.
    gaps.sort()
    assert gaps[len(gaps) * 9 // 10] < 0.05, gaps[-20:]
