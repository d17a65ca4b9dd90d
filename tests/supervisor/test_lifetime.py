"""How long a session lives, and who may talk to it."""

import struct

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
    import engine_api

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


def test_somebody_can_watch(make_cell):
    cell = make_cell()
    watcher = cell.attach()
    assert watcher.call("watch").status == "ok"
    number = cell.client.start("1/0")
    cell.client.wait(number)
    seen = [watcher.read()[0] for _ in range(2)]
    assert [event["event"] for event in seen] == ["started", "ended"]
    assert {event["call"] for event in seen} == {number} and seen[1]["status"] == "error"


def test_a_lease_can_be_changed(make_cell):
    cell = make_cell(lease_ms=60000)
    assert cell.client.call("lease", lease_ms=200).header["lease_ms"] == 200
    cell.client.close()
    cell.wait_gone()
