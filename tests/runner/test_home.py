"""A session's home begins as a copy of the image's /etc/skel."""
import importlib.util
import os
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "src/runner/home.py"


@pytest.fixture(name="home")
def load():
    spec = importlib.util.spec_from_file_location("home", SOURCE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def skeleton(tmp_path):
    root = tmp_path / "skel"
    (root / ".cache/fonts").mkdir(parents=True)
    (root / ".cache/fonts/list").write_bytes(b"a\0b")
    (root / ".profile").write_text("x")
    (root / "link").symlink_to("/etc/passwd")
    os.mkfifo(root / "pipe")
    return root


def test_files_are_copied_and_nothing_else(home, skeleton, tmp_path):
    target = tmp_path / "home"
    target.mkdir()
    home.furnish(target, skeleton)
    assert (target / ".cache/fonts/list").read_bytes() == b"a\0b"
    assert sorted(os.listdir(target)) == [".cache", ".profile"]


def test_a_home_in_use_is_left_alone(home, skeleton, tmp_path):
    target = tmp_path / "home"
    target.mkdir()
    (target / "mine").write_text("x")
    home.furnish(target, skeleton)
    assert os.listdir(target) == ["mine"]


def test_an_image_without_a_skeleton_is_fine(home, tmp_path):
    target = tmp_path / "home"
    target.mkdir()
    home.furnish(target, tmp_path / "nowhere")
    home.furnish(tmp_path / "nowhere", tmp_path)
    assert os.listdir(target) == []
