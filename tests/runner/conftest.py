import pytest
from harness import Kernel


@pytest.fixture
def kernel(tmp_path):
    with Kernel(cwd=str(tmp_path)) as found:
        yield found
