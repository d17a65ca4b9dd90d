import cases
import pytest

FOUND = cases.load({"01", "02", "04"})


@pytest.mark.parametrize("case", FOUND, ids=[case["id"] for case in FOUND])
def test_case(case, tmp_path):
    cases.run(case, str(tmp_path))


def test_all_groups_are_there():
    assert len(FOUND) == 43
