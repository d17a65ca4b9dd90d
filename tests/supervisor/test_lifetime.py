"""How long a session lives, and who may talk to it."""

import struct
import time

import engine_api
import pytest

from cell import frames


def test_a_lost_client_ends_the_session_after_the_lease(make_cell):
    cell = make_cell(lease_ms=300)
    cell.client.start("while True: pass")
    cell.client.close()
    cell.wait_gone()


def test_a_second_client_keeps_the_session(make_cell):
    cell = make_cell(lease_ms=1000)
    cell.run("x = 11")
    second = cell.attach()
    cell.client.close()
    assert second.run("x").output == "11"
    outcome = second.run("import time; time.sleep(2); x", timeout_ms=30000)
    assert outcome.output == "11", "the lease ran although a client was there"
    second.close()
    cell.wait_gone()


def begin(cell, code, **fields):
    """Starts a call and waits until its code runs: two streams have no order between them."""
    number = cell.client.start("print('begun', flush=True)\n" + code, **fields)
    while cell.client.read()[0]["type"] != "output":
        pass
    return number


def test_two_clients_take_turns(make_cell):
    cell = make_cell()
    second = cell.attach()
    running = begin(cell, "import time; time.sleep(0.3); x = 1")
    assert second.run("x").output == "1"
    assert cell.client.wait(running).status == "ok"


def test_a_client_that_will_not_wait_is_told(make_cell):
    cell = make_cell()
    second = cell.attach()
    running = begin(cell, "while True: pass")
    assert second.run("2", wait=False).status == "busy"
    second.write(frames.pack({"type": "interrupt", "target": running}))
    assert cell.client.wait(running).status == "interrupted"
    assert second.run("2", wait=False).output == "2"


def test_another_client_can_interrupt(make_cell):
    cell = make_cell()
    second = cell.attach()
    number = begin(cell, "while True: pass")
    second.write(frames.pack({"type": "interrupt", "target": number}))
    assert cell.client.wait(number).status == "interrupted"


def test_close_ends_the_container(make_cell):
    cell = make_cell()
    assert cell.client.call("close").status == "ok"
    cell.wait_gone()


def test_a_life_at_all_can_be_limited(make_cell):
    cell = make_cell(max_life_ms=500)
    cell.client.start("while True: pass")
    cell.wait_gone()


def test_an_idle_life_can_be_limited(make_cell):
    cell = make_cell(idle_ms=500)
    cell.wait_gone()


def test_docker_stop_is_obeyed(make_cell):
    cell = make_cell()
    engine_api.must("POST", "/containers/%s/kill?signal=TERM" % cell.id)
    cell.wait_gone()


@pytest.mark.parametrize(
    "data, said",
    [
        (struct.pack(">II", 1 << 30, 0), "out of range"),
        (struct.pack(">II", 2, 1 << 31) + b"{}", "out of range"),
        (struct.pack(">II", 0, 0), "out of range"),
        (struct.pack(">II", 2, 0) + b"[]", "not one object"),
        (struct.pack(">II", 4, 0) + b"\xff\xff\xff\xff", "not JSON"),
        (frames.pack({"type": "execute", "id": 5, "parts": [["code", 1 << 40]]}), "out of range"),
        (frames.pack({"type": "execute", "id": 5, "parts": [["code", 1]]}, b"too long"), "longer"),
        (frames.pack({"type": "data", "id": 5}, b"x"), "nothing waits"),
        (frames.pack({"type": "nosuch", "id": 5}), "unknown frame type"),
        (frames.pack({"type": "execute", "id": 5, "timeout_ms": -1, "parts": [["code", 1]]}, b"1"), "timeout_ms"),
        (frames.pack({"type": "execute", "id": -5}), "id is not"),
    ],
)
def test_a_client_that_breaks_the_protocol_is_told_and_dropped(cell, data, said):
    bad = cell.attach()
    bad.write(data)
    header, _ = bad.read()
    assert header["type"] == "error" and said in header["message"], header
    with pytest.raises(EOFError):
        bad.read()
    bad.close()
    assert cell.run("6").output == "6"


def test_another_protocol_version_is_refused(cell):
    from cell import Client

    client = Client(cell)
    client.write(frames.pack({"type": "hello", "protocol": 99, "client": "x"}))
    assert "protocol" in client.read()[0]["message"]
    client.close()


def test_stdin_larger_than_a_frame(cell):
    data = bytes(range(256)) * 4096
    code = b"import sys, hashlib; hashlib.sha256(sys.stdin.buffer.read()).hexdigest()"
    outcome = cell.client.call("execute", code + data, parts=[["code", len(code)], ["stdin", len(data)]])
    import hashlib

    assert outcome.output == '"%s"' % hashlib.sha256(data).hexdigest(), outcome


def test_a_stalled_client_does_not_stop_the_deadline(make_cell):
    cell = make_cell()
    second = cell.attach()
    number = cell.client.start("while True: print('x' * 1000)", timeout_ms=1000, grace_ms=300)
    # Nobody reads cell.client: its call must end all the same, and the other client be served.
    outcome = second.run("'served'", timeout_ms=60000)
    assert outcome.output == '"served"', outcome
    assert cell.client.wait(number).status == "timeout"


def test_a_result_can_be_fetched_again(cell):
    number = cell.client.start("print('once'); 6 * 7")
    first = cell.client.wait(number)
    second = cell.attach()
    for client in (cell.client, second):
        again = client.call("result", target=number)
        assert again.header["target"] == number
        assert (again.status, again.output, again.out[1]) == ("ok", first.output, b"once\n"), again
    second.close()


def test_a_result_outlives_its_client(make_cell):
    cell = make_cell(lease_ms=20000)
    number = cell.client.start("import time\nprint('on my own', flush=True)\ntime.sleep(1)\n'done'")
    cell.client.close()
    second = cell.attach()
    outcome = second.call("result", target=number)
    assert (outcome.status, outcome.output, outcome.out[1]) == ("ok", '"done"', b"on my own\n"), outcome


def test_an_unknown_result_is_lost(cell):
    assert cell.client.call("result", target=12345).status == "lost"


def test_what_is_kept_of_a_result_is_bounded_and_counted(cell):
    number = cell.client.start("import sys\nfor i in range(300): sys.stdout.write('%09d\\n' % i * 1000)\nsys.stdout.flush()")
    cell.client.wait(number)
    number = cell.client.send("result", target=number)
    kept, dropped = b"", 0
    while True:
        header, content = cell.client.read()
        if header["type"] == "result":
            break
        kept += content
        dropped += header.get("dropped", 0)
    assert len(kept) + dropped == 3000000 and len(kept) < 2 << 20 and dropped > 0
    assert kept.startswith(b"000000000\n") and kept.endswith(b"000000299\n")


def test_a_detached_call_needs_a_timeout_and_gets_its_time(make_cell):
    cell = make_cell(lease_ms=300)
    second = cell.attach()
    second.start("1", detach=True)
    assert "timeout_ms" in second.read()[0]["message"]
    number = cell.client.start("import time; time.sleep(2)\nopen('/workspace/done', 'w').close()\n'done'", detach=True, timeout_ms=30000)
    assert cell.client.call("ping").status == "ok"
    cell.client.close()
    second.close()
    third = cell.attach()
    outcome = third.call("result", target=number)
    assert outcome.output == '"done"', outcome
    third.close()
    cell.wait_gone()


def test_a_detached_call_is_answered_at_once(make_cell):
    cell = make_cell()
    number = begin_detached(cell, "import time\nprint('a', flush=True)\ntime.sleep(0.5)\nprint('b')\n6")
    assert cell.run("7").output == "7"  # waits for it, and gets nothing of it
    outcome = cell.client.call("result", target=number)
    assert (outcome.output, outcome.out[1]) == ("6", b"a\nb\n")


def begin_detached(cell, code):
    number = cell.client.start(code, detach=True, timeout_ms=60000)
    answer = cell.client.wait(number)
    assert answer.header["detached"] is True and answer.status == "ok"
    return number


def test_a_detached_call_can_be_refused_as_any_other(make_cell):
    cell = make_cell()
    begin_detached(cell, "while True: pass")
    outcome = cell.run("1", detach=True, timeout_ms=60000, wait=False)
    assert outcome.status == "busy" and "detached" not in outcome.header


def test_whoever_asks_for_a_running_call_hears_the_rest_as_it_comes(make_cell):
    cell = make_cell()
    code = "import time\nprint('begun', flush=True)\nwhile not os.path.exists('/tmp/go'): time.sleep(0.01)\nprint('end')\n9"
    number = begin_detached(cell, "import os\n" + code)
    asked = cell.client.send("result", target=number)
    header, content = cell.client.read()
    assert (header["type"], header["id"], content) == ("output", asked, b"begun\n")
    second = cell.attach()
    late = second.send("result", target=number)  # somebody has it already: all of it at the end
    assert second.call("ping").status == "ok"
    cell.client.write(frames.pack({"type": "interrupt", "target": number}))
    outcome = cell.client.wait(asked)
    assert (outcome.status, outcome.header["target"]) == ("interrupted", number)
    outcome = second.wait(late)
    assert (outcome.status, outcome.out[1], outcome.header["target"]) == ("interrupted", b"begun\n", number)


def test_waiting_for_a_result_can_be_given_up(make_cell):
    cell = make_cell()
    number = begin_detached(cell, "while True: pass")
    assert cell.client.call("result", target=number, wait=False).status == "busy"
    second = cell.attach()
    for client in (cell.client, second):  # the one that has the call, and one that waits beside it
        asked = client.send("result", target=number)
        client.write(frames.pack({"type": "interrupt", "target": asked}))
        outcome = client.wait(asked)
        assert (outcome.status, outcome.header["target"]) == ("interrupted", number)
    assert cell.client.call("stat").header["running"] == [number], "the call itself goes on"


def test_a_lost_stream_is_taken_up_where_it_was(make_cell):
    cell = make_cell()
    number = begin(cell, "import time\nfor i in range(5): print(i, flush=True); time.sleep(0.1)\n'end'")
    again = cell.attach(client=cell.client.name)
    with pytest.raises(EOFError):  # its place was taken, whatever became of its stream
        while True:
            cell.client.read()
    outcome = again.call("result", target=number)
    assert (outcome.output, outcome.out[1]) == ('"end"', b"begun\n0\n1\n2\n3\n4\n")


def test_a_replay_says_where_bytes_are_missing(cell):
    number = cell.client.start("import sys\nfor i in range(300): sys.stdout.write('%09d\\n' % i * 1000)\nsys.stdout.flush()")
    cell.client.wait(number)
    number = cell.client.send("result", target=number)
    at, pieces = 0, []
    while True:
        header, content = cell.client.read()
        if header["type"] == "result":
            break
        at += header.get("dropped", 0)
        pieces.append((at, content))
        at += len(content)
    assert at == 3000000
    whole = b"".join(b"%09d\n" % i * 1000 for i in range(300))
    assert all(whole[start : start + len(content)] == content for start, content in pieces)


def test_displays_are_replayed_from_the_first_on(cell):
    code = "for size in (1, 5, 9, 1): display({'text/plain': 'x' * (size << 20)}, raw=True)"
    number = cell.client.start(code)
    assert len(cell.client.wait(number).displays) == 4
    again = cell.client.call("result", target=number)
    assert [len(parts["text/plain"]) >> 20 for parts in again.displays] == [1, 5]


def test_somebody_can_watch(make_cell):
    cell = make_cell()
    watcher = cell.attach()
    assert watcher.call("watch").status == "ok"
    number = cell.client.start("1/0")
    cell.client.wait(number)
    seen = [watcher.read()[0] for _ in range(2)]
    assert [event["event"] for event in seen] == ["started", "ended"]
    assert {event["call"] for event in seen} == {number} and seen[1]["status"] == "error"


def test_a_watcher_hears_what_waits(make_cell):
    cell = make_cell()
    watcher = cell.attach(observe=True)
    assert watcher.call("watch").status == "ok"
    first, second = begin(cell, "while True: pass"), cell.client.start("2")
    cell.client.write(frames.pack({"type": "interrupt", "target": first}))
    cell.client.wait(second)
    seen = [(event["event"], event["call"]) for event in (watcher.read()[0] for _ in range(5))]
    assert seen == [
        ("started", first), ("queued", second), ("ended", first), ("started", second), ("ended", second),
    ]  # fmt: skip


def test_a_lease_can_be_changed(make_cell):
    cell = make_cell(lease_ms=60000)
    assert cell.client.call("lease", lease_ms=200).header["lease_ms"] == 200
    cell.client.close()
    cell.wait_gone()


def test_a_lease_that_is_set_counts_from_now(make_cell):
    cell = make_cell(lease_ms=60000)
    watcher = cell.attach(observe=True)
    assert watcher.call("stat").header["lease_left_ms"] is None
    cell.client.close()
    while watcher.call("stat").header["clients"]:
        pass
    assert 0 < watcher.call("stat").header["lease_left_ms"] <= 60000
    answer = watcher.call("lease", lease_ms=900000)
    assert 800000 < answer.header["lease_left_ms"] <= 900000
    watcher.call("lease", lease_ms=1)
    cell.wait_gone()


def test_who_looks_on_does_not_keep_a_session(make_cell):
    cell = make_cell(lease_ms=500)
    watcher = cell.attach(observe=True)
    cell.client.close()
    with pytest.raises(EOFError):
        while watcher.call("stat").header["clients"] >= 0:
            pass
    cell.wait_gone()


def test_who_looks_on_is_no_reason_to_wait(make_cell):
    cell = make_cell(idle_ms=4000)
    watcher = cell.attach(observe=True)
    idle = [watcher.call("stat").header["idle_ms"] for _ in range(20)]
    assert idle == sorted(idle)
    with pytest.raises(EOFError):
        while True:
            watcher.call("stat")
    cell.wait_gone()


@pytest.mark.parametrize(
    "options, how, code",
    [
        ({"lease_ms": 100}, lambda cell: cell.client.close(), 80),
        ({"idle_ms": 300}, lambda cell: None, 81),
        ({"max_life_ms": 300}, lambda cell: None, 82),
        ({}, lambda cell: cell.client.call("close"), 0),
    ],
)
def test_the_exit_status_says_why_a_session_ended(make_cell, options, how, code):
    since = time.time()
    cell = make_cell(**options)
    how(cell)
    cell.wait_gone()
    assert engine_api.exit_code(cell.id, since) == code


def test_calls_are_counted_by_how_they_ended(make_cell):
    cell = make_cell()
    for code in ("1", "2", "1/0", "import sys; sys.exit(3)"):
        cell.run(code)
    assert cell.client.call("stat").header["ended"] == {"ok": 2, "error": 1, "exited": 1}
