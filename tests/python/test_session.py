"""The blocking API."""
import gc
import math
import threading

import pytest

import sandcell


def log(session):
    return session.describe()["log"]


def test_execute_gives_value_output_and_code(session):
    code = "value [1, 2.5, null]\nprint hello\nwarn careful"
    result = session.execute(code)
    assert result.success and result.status == "ok" and result.error is None
    assert result.output == [1, 2.5, None] and result.output_kind == "json"
    assert (result.stdout, result.stderr) == ("hello\n", "careful\n")
    assert result.code == code


def test_repr_stays_text(session):
    result = session.execute("repr <object at 0x1>")
    assert (result.output, result.output_kind) == ("<object at 0x1>", "repr")


def test_no_value_is_none(session):
    result = session.execute("print x")
    assert (result.output, result.output_kind) == (None, "none")


@pytest.mark.parametrize("text", ["[[[", "{1:2}", "NaN!", "[" * 100_000, "1" * 5000])
def test_value_that_is_no_json_is_shown_as_text(session, text):
    result = session.execute(f"value {text}")
    assert result.output == text and result.output_kind == "repr" or text.isdigit()


def test_bytes_that_are_no_text_are_kept(session):
    result = session.execute("bytes 61ff62")
    assert result.stdout == "a\N{REPLACEMENT CHARACTER}b"
    assert result.stdout_bytes == b"a\xffb"
    assert session.execute("print é").stdout_bytes == "é\n".encode()


def test_failed_code_is_a_result(session):
    result = session.execute("raise ValueError: no")
    assert not result.success and result.status == "error"
    assert result.error == "ValueError: no"
    with pytest.raises(sandcell.ExecutionError, match="ValueError: no") as caught:
        result.raise_for_status()
    assert caught.value.result is result


def test_calls_that_never_began_are_exceptions(session):
    with pytest.raises(sandcell.EngineError, match="fake failure -5") as caught:
        session.execute("fail -5")
    assert caught.value.code == -5 and caught.value.http_status == 500


@pytest.mark.parametrize("code, kind, builtin", [
    (-2, sandcell.OutOfMemoryError, MemoryError),
    (-3, sandcell.InvalidArgumentError, ValueError),
    (-4, sandcell.EngineUnreachableError, ConnectionError),
    (-7, sandcell.NotFoundError, LookupError),
    (-9, sandcell.DeadlineError, TimeoutError),
    (-12, sandcell.SessionGoneError, sandcell.SandcellError),
    (-99, sandcell.SandcellError, Exception),
])
def test_each_code_has_its_exception(session, code, kind, builtin):
    with pytest.raises(builtin) as caught:
        session.execute(f"fail {code}")
    assert type(caught.value) is kind


def test_engine_that_is_not_there():
    with pytest.raises(sandcell.EngineUnreachableError) as caught:
        sandcell.Session(engine="unix:///nowhere")
    assert "SANDCELL_HOST" in caught.value.hint
    assert caught.value.errno != 0


def test_engine_is_found_once_and_shared(fake):
    with sandcell.Session(), sandcell.Session():
        assert fake.live()["engines"] == 1


def test_engine_tells_what_it_is():
    lines = []
    engine = sandcell.Engine("unix:///somewhere", on_log=lines.append)
    assert (engine.host, engine.source) == ("unix:///somewhere", "the test")
    assert (engine.kind, engine.api_version) == ("fake", "1.41")
    assert lines == ["engine found"]
    with sandcell.Session(engine=engine) as session:
        assert session.execute("value 1").output == 1


def test_options_reach_the_library():
    with sandcell.Session("img", workspace=".", memory="512m", cpus=1.5, timeout=2.5,
                          env={"A": "b c"}, mounts=["/x:/y:ro"], preload=["numpy", "json"],
                          workspace_read_only=True, strict_limits=True) as session:
        lines = log(session)
    assert lines[0].startswith("open image=img workspace=/")
    assert f"memory={512 << 20} cpus=1500 timeout=2500 flags=3" in lines[0]
    assert lines[1:] == ["env A=b c", "mount /x:/y:ro", "preload numpy,json"]


@pytest.mark.parametrize("options", [
    dict(memory=0), dict(memory="lots"), dict(memory=2**64), dict(cpus=0),
    dict(cpus=math.nan), dict(timeout=-1), dict(timeout=0), dict(pids=-3), dict(name="a\0b"),
    dict(preload="numpy"), dict(mounts="/a:/b"), dict(image=3),
])
def test_options_that_make_no_sense_are_refused(options, fake):
    before = fake.live()
    with pytest.raises(sandcell.InvalidArgumentError):
        sandcell.Session(**options)
    assert fake.live()["sessions"] == before["sessions"]


def test_warnings_of_the_library_are_told():
    import asyncio

    async def main():
        async with sandcell.AsyncSession("warns"):
            pass

    with pytest.warns(sandcell.SandcellWarning, match="no limit") as told:
        sandcell.Session("warns").close()
    assert told[0].filename == __file__
    with pytest.warns(sandcell.SandcellWarning, match="no limit"):
        asyncio.run(main())


def test_unknown_option_is_a_type_error():
    with pytest.raises(TypeError):
        sandcell.Session(memori="1g")


def test_keywords_are_the_options_fields():
    from sandcell._options import SessionKeywords

    fields = set(sandcell.SessionOptions.__dataclass_fields__)
    assert set(SessionKeywords.__annotations__) == fields - {"image"}
    for name in fields:
        assert f"``{name}``" in sandcell.SessionOptions.__doc__, name


@pytest.mark.parametrize("text, size", [
    ("1", 1), ("1k", 1024), ("512m", 512 << 20), ("2g", 2 << 30), ("2GiB", 2 << 30),
    ("3 MB", 3 << 20), ("1t", 1 << 40), (7, 7),
])
def test_sizes(text, size):
    from sandcell._options import size as parse

    assert parse(text, "x") == size


def test_call_options_reach_the_library(session):
    session.execute("x", timeout=1.5, stdin="héllo", script="/workspace/a.py", args=["b"])
    assert "timeout=1500 stdin=6 script=/workspace/a.py args=b" in log(session)
    session.execute("x", timeout=math.inf)
    assert f"timeout={2**32 - 1} stdin=0 script=- args=-" in log(session)


def test_flags_and_files_reach_the_library(session):
    session.execute("x", program=True, artifacts=True, stdout_file="/out", stderr_file="/err")
    assert "flags=3 files=/out /err" in log(session)
    for misspelt in (lambda: session.execute("x", time_out=1),
                     lambda: list(session.stream("x", time_out=1)),
                     lambda: session.execute_cli("ls", time_out=1)):
        with pytest.raises(TypeError, match="time_out"):
            misspelt()


def test_keywords_of_calls_are_those_of_the_library():
    import inspect

    from sandcell import _calls

    for keywords, function in ((_calls.ExecuteKeywords, _calls.execute_options),
                               (_calls.CliKeywords, _calls.cli_options)):
        _, *wanted = inspect.signature(function).parameters
        assert list(keywords.__annotations__) == wanted
    for name in _calls.ExecuteKeywords.__annotations__:
        assert f"``{name}``" in sandcell.Session.execute.__doc__, name


def test_questions(session):
    assert session.names() == [{"name": "x"}]
    assert session.complete("é.x") == [4, 3] and session.complete("abc", 1) == [3, 1]
    with pytest.raises(sandcell.SessionGoneError):
        session.history()


def test_closed_session_says_so(fake):
    session = sandcell.Session()
    session.close()
    session.close()
    assert session.closed and "closed" in repr(session)
    for call in (lambda: session.execute("value 1"), session.reset, session.describe,
                 lambda: session.execute_cli("ls"), session.names, session.checkpoint):
        with pytest.raises(sandcell.SessionClosedError):
            call()
    session.interrupt()
    session.detach()


def test_close_that_failed_can_be_tried_again(fake):
    session = sandcell.Session()
    before = fake.closed
    fake.set(close_code=-5)
    with pytest.raises(sandcell.EngineError):
        session.close()
    assert not session.closed
    fake.set(close_code=0)
    session.close()
    assert session.closed and fake.closed == before + 1


def test_detached_container_is_left_alone(fake):
    before = fake.closed
    session = sandcell.Session()
    session.detach()
    del session
    gc.collect()
    assert fake.closed == before and fake.live()["sessions"] == 0


def test_open_that_fails_leaves_nothing(fake):
    fake.set(open_code=-7)
    with pytest.raises(sandcell.NotFoundError):
        sandcell.Session()
    assert fake.live()["sessions"] == 0 and fake.live()["errors"] == 0


def test_callback_gets_every_piece(session):
    pieces = []
    result = session.execute(
        "print a\nwarn b", on_output=lambda stream, data: pieces.append((stream, data)))
    assert pieces == [("stdout", b"a"), ("stdout", b"\n"), ("stderr", b"b"), ("stderr", b"\n")]
    assert result.stdout == "a\n"


def test_callback_that_raises_stops_the_call(session, fake):
    def refuse(stream, data):
        raise KeyError(stream)

    with pytest.raises(KeyError, match="stdout"):
        session.execute("print a\nblock 60000", on_output=refuse)
    assert fake.live()["results"] == 0 and fake.live()["errors"] == 0
    assert session.execute("value 2").output == 2


def test_callback_must_not_call_its_session(session):
    seen = []

    def call_again(stream, data):
        for call in (lambda: session.execute("value 1"), session.reset, session.close):
            with pytest.raises(sandcell.SandcellError, match="callback"):
                call()
            seen.append(1)

    session.execute("bytes 61", on_output=call_again)
    assert seen == [1, 1, 1]


def test_callback_sees_the_callers_context(session):
    import contextvars

    var = contextvars.ContextVar("var")
    var.set("here")
    seen = []
    session.execute("bytes 61", on_output=lambda stream, data: seen.append(var.get()))
    assert seen == ["here"]


def test_stream_yields_output_and_last_the_result(session):
    *pieces, result = session.stream("print one\nwarn two\nvalue 3")
    assert [(p.stream, p.text) for p in pieces] == [
        ("stdout", "one"), ("stdout", "\n"), ("stderr", "two"), ("stderr", "\n")]
    assert result.output == 3


def test_stream_never_splits_a_character(session):
    pieces = list(session.stream("bytes c3a9ff"))[:-1]
    assert [p.text for p in pieces] == ["", "é", "\N{REPLACEMENT CHARACTER}"]
    assert b"".join(p.data for p in pieces) == b"\xc3\xa9\xff"


def test_stream_left_early_interrupts_the_code(session):
    for piece in session.stream("print a\nblock 60000"):
        assert piece.text == "a"
        break
    assert session.execute("value 1").output == 1


def test_stream_raises_what_the_call_raises(session):
    with pytest.raises(sandcell.EngineError):
        list(session.stream("print a\nfail -5"))


def test_stream_of_much_holds_little_back(session, fake):
    total = 0
    for piece in session.stream(f"spew {50 << 20}"):
        if isinstance(piece, sandcell.Output):
            total += len(piece.data)
    assert total == 50 << 20


def test_interrupt_from_another_thread(session):
    timer = threading.Timer(0.1, session.interrupt)
    timer.start()
    result = session.execute("block 60000")
    assert result.status == "interrupted"
    timer.join()


def test_threads_take_turns(session):
    results = {}

    def work(number):
        results[number] = [session.execute(f"block 1\nvalue {number}").output
                           for _ in range(20)]

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {n: [n] * 20 for n in range(8)}


def test_close_ends_a_call_of_another_thread(fake):
    session = sandcell.Session()
    statuses = []
    begun = threading.Event()

    def work():
        statuses.append(session.execute(
            "print x\nblock 60000", on_output=lambda stream, data: begun.set()).status)

    thread = threading.Thread(target=work)
    thread.start()
    assert begun.wait(30)
    session.close()
    thread.join(30)
    assert statuses == ["interrupted"] and fake.live()["sessions"] == 0


def test_other_threads_run_while_a_call_waits(session):
    ticks = []
    done = threading.Event()

    def tick():
        while not done.wait(0.001):
            ticks.append(1)

    thread = threading.Thread(target=tick)
    thread.start()
    session.execute("block 200")
    done.set()
    thread.join()
    assert len(ticks) > 10


def test_cli_result_and_options(session):
    result = session.execute_cli("ls -l", timeout=3)
    assert result.success and result.stdout == "ok\n" and result.code == "ls -l"
    assert "cli ls -l" in log(session)


def test_reset(session):
    session.reset()
    assert "reset" in log(session)


def test_run_opens_and_closes(fake):
    before = fake.closed
    result = sandcell.run("value 5", memory="1g")
    assert result.output == 5 and fake.closed == before + 1


def test_code_that_is_no_text_is_refused(session):
    with pytest.raises(UnicodeEncodeError):
        session.execute("x = '\ud800'")
    assert session.execute(b"value 1").output == 1
