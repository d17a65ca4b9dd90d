"""Frames that the code writes itself: its own result suffers, nothing else does."""

import time

import pytest

FRAME = """
import gc, json, os, struct
kernel = [o for o in gc.get_objects() if type(o).__name__ == 'Kernel'][0]
def write(header, body=b''):
    text = json.dumps(header).encode()
    data = memoryview(struct.pack('>II', len(text), len(body)) + text + body)
    while data:
        data = data[os.write(kernel.control, data):]
here = kernel.cell.id
"""

ENDLESS = "\nimport time\ntime.sleep(60)"


def usable(cell):
    outcome = cell.run("print('alive')", timeout_ms=20000)
    assert (outcome.status, outcome.out[1]) == ("ok", b"alive\n"), outcome


@pytest.mark.parametrize(
    "forged",
    [
        "write({'type': 'done', 'id': here, 'status': []})",
        "write({'type': 'done', 'id': here, 'status': 'ok', 'output_kind': {}})",
        "write({'type': 'done', 'id': here, 'status': 'ok', 'parts': [['output', 5]]})",
        "write({'type': 'display', 'id': here}, b'x' * 200000)",
        "write({'type': 'display', 'id': here, 'parts': []})",
        "write({'type': 'display', 'id': here, 'parts': [['text/html', 40 << 20]]}, b'x' * (40 << 20))",
        "write({'type': 'display', 'id': here, 'parts': [['\\ud800', 1]]}, b'x')",
        "write({'type': 'display', 'id': here, 'parts': [['a\\0b', 1]]}, b'x')",
        "write({'type': 'reply', 'id': here})",
        "write({'type': 'drained', 'consumed': True})",
        "write({'type': 'nosuch', 'id': here})",
    ],
)
def test_nonsense_ends_the_kernel_and_nothing_else(cell, forged):
    outcome = cell.run(FRAME + forged + ENDLESS, timeout_ms=50000)
    assert outcome.status == "error" and "nonsense" in outcome.error, outcome
    assert outcome.header["state_preserved"] is False and not outcome.displays
    usable(cell)


def test_a_flood_of_frames_does_not_hold_up_the_deadline(cell):
    flood = (
        FRAME + "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "while True: write({'type': 'display', 'id': here, 'parts': [['text/plain', 60000]]}, b'x' * 60000)"
    )
    number = cell.client.start(flood, timeout_ms=500, grace_ms=200)
    second = cell.attach()
    assert second.call("ping").status == "ok"  # others are served meanwhile
    second.close()
    outcome = cell.client.wait(number)
    assert outcome.status == "timeout", outcome
    usable(cell)


def test_a_client_that_reads_nothing_holds_the_flood_back(make_cell):
    cell = make_cell(memory=256 << 20)
    cell.client.start(FRAME + "while True: write({'type': 'display', 'id': here, 'parts': [['text/plain', 60000]]}, b'x' * 60000)")
    second = cell.attach()
    seen = []
    for _ in range(20):
        seen.append(second.call("stat").header["memory_bytes"])
        time.sleep(0.05)  # the flood is the input; what grows in this time is looked at
    assert max(seen) < 200 << 20, seen
    assert second.call("close").status == "ok"
