"""inspect, complete and history beside the calls that run code."""

import json


def test_answers(cell):
    cell.run("alpha = 1")
    rows = json.loads(cell.client.call("inspect").parts["names"])
    assert {"name": "alpha", "type": "int", "repr": "1", "size": 28} in rows
    outcome = cell.client.call("complete", b"alpha", parts=[["code", 5]], cursor=4)
    assert json.loads(outcome.parts["matches"]) == ["alpha"]
    assert json.loads(cell.client.call("history").parts["history"])[-1]["code"] == "alpha = 1"


def test_the_end_of_a_question_s_time_hits_no_code(cell):
    """A question that is late ends by itself; a signal for it would hit the next cell."""
    cell.run("for i in range(4000): globals()['n%d' % i] = [i, 'x' * 100]")
    for _ in range(20):
        assert cell.client.call("inspect", timeout_ms=1).status == "ok"
        assert cell.run("40 + 2").output == "42"
