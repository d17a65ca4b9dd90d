"""The kernel's first duties; the groups below `test_kernel_*` go deeper."""

import pytest
from harness import Kernel


@pytest.fixture
def kernel():
    with Kernel() as found:
        yield found


def test_value_state_and_output(kernel):
    assert kernel.execute("1").output == 1
    assert kernel.execute("x = 41\nprint('set')").stdout == b"set\n"
    result = kernel.execute("x + 1")
    assert (result.status, result.kind, result.output) == ("ok", "json", 42)


def test_failure_keeps_what_was_assigned(kernel):
    result = kernel.execute("y = 5\n1 / 0")
    assert result.status == "error"
    assert 'File "<cell 1>", line 2' in result.error
    assert result.error.endswith("ZeroDivisionError: division by zero")
    assert "sandcell" not in result.error
    assert kernel.execute("y").output == 5
