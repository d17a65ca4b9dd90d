import os
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import cell as cells
import engine_api


def pytest_sessionfinish():
    """Nothing of this run may stay behind, whatever the tests did."""
    if not os.environ.get("SANDCELL_TEST_HOST"):
        return
    for found in engine_api.must("GET", "/containers/json?all=1"):
        if found.get("Labels", {}).get("io.sandcell.test") == cells.RUN_ID:
            engine_api.request("DELETE", "/containers/%s?force=1&v=1" % found["Id"])


@pytest.fixture(scope="session", autouse=True)
def engine():
    if not os.environ.get("SANDCELL_TEST_HOST"):
        pytest.fail("SANDCELL_TEST_HOST names no engine: run scripts/test, or scripts/engine-up first")


@pytest.fixture(scope="module", params=[1000, 0], ids=["uid1000", "uid0"])
def cell(request):
    """A cell for tests that leave it usable; once for an ordinary user, once for uid 0."""
    made = cells.Cell(uid=request.param)
    yield made
    made.close()


@pytest.fixture
def make_cell():
    made = []

    def make(**options):
        made.append(cells.Cell(**options))
        return made[-1]

    yield make
    for one in made:
        one.close()
