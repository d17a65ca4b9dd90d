import os

import pytest


@pytest.fixture(scope="session", autouse=True)
def engine():
    host = os.environ.get("SANDCELL_TEST_HOST")
    if not host:
        pytest.fail("SANDCELL_TEST_HOST names no engine: run scripts/test, or scripts/engine-up first")
    os.environ["SANDCELL_HOST"] = host
