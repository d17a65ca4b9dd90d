"""pip installs the package from the checkout, without a network, and with the library."""
import os
import subprocess
import sys
import zipfile

import pytest

import sandcell
from conftest import PACKAGE, TOP

REAL = os.environ.get("SANDCELL_REAL_LIBRARY", str(TOP / "build/lib/libsandcell.so.0"))
VERSION = sandcell.__version__


def clean(**more):
    kept = {k: v for k, v in os.environ.items() if k not in ("SANDCELL_LIBRARY", "PYTHONPATH")}
    return {**kept, "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INDEX": "1", **more}


def pip(*args, **environment):
    done = subprocess.run([sys.executable, "-m", "pip", *args], env=clean(**environment),
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=300)
    assert done.returncode == 0, done.stdout


def python(program, **environment):
    return subprocess.run([sys.executable, "-c", program], env=clean(**environment), timeout=60,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    pip("install", "--target", str(folder), str(PACKAGE), SANDCELL_LIBRARY=REAL)
    return folder


def test_installed_package_has_its_library_with_it(installed):
    done = python("import sandcell; from sandcell._library import lib; "
                  "print(sandcell.__version__, lib.path)", PYTHONPATH=str(installed))
    assert done.stdout == f"{VERSION} {installed}/sandcell/libsandcell.so.0\n", done.stderr
    assert (installed / "sandcell/py.typed").exists()
    assert (installed / f"sandcell-{VERSION}.dist-info/METADATA").exists()


def test_library_that_is_named_comes_first(installed):
    done = python("from sandcell._library import lib; print(lib.path)",
                  PYTHONPATH=str(installed), SANDCELL_LIBRARY=REAL)
    assert done.stdout == f"{REAL}\n", done.stderr


def test_missing_library_is_explained(installed):
    done = python("import sandcell", PYTHONPATH=str(installed), SANDCELL_LIBRARY="/no/such.so")
    assert done.returncode == 1
    assert "ImportError: sandcell: its library could not be loaded" in done.stderr
    assert "SANDCELL_LIBRARY" in done.stderr and "/no/such.so" in done.stderr


def test_library_of_another_version_is_refused():
    from sandcell._library import check_version

    major, minor, _ = map(int, VERSION.split("."))
    check_version(major << 16 | minor << 8 | 99, "x.so")
    with pytest.raises(ImportError, match=rf"needs libsandcell {major}\.{minor}, but x\.so is 7"):
        check_version(7 << 16, "x.so")


def test_something_else_is_no_library(installed):
    done = python("import sandcell", PYTHONPATH=str(installed), SANDCELL_LIBRARY="libc.so.6")
    assert "libc.so.6 has no function 'sandcell_version'" in done.stderr


def test_wheel_without_a_library_is_for_every_platform(tmp_path):
    pip("wheel", "--no-deps", "-w", str(tmp_path), "--config-settings", "library=none",
        str(PACKAGE))
    (wheel,) = tmp_path.iterdir()
    assert wheel.name == f"sandcell-{VERSION}-py3-none-any.whl"
    assert "sandcell/libsandcell.so.0" not in zipfile.ZipFile(wheel).namelist()


def test_wheel_is_the_same_each_time(tmp_path):
    contents = []
    for name in ("a", "b"):
        pip("wheel", "--no-deps", "-w", str(tmp_path / name), str(PACKAGE), SANDCELL_LIBRARY=REAL)
        (wheel,) = (tmp_path / name).iterdir()
        assert wheel.name.startswith(f"sandcell-{VERSION}-py3-none-linux_")
        contents.append(wheel.read_bytes())
    assert contents[0] == contents[1]


def test_project_table_is_read_as_toml_says():
    tomllib = pytest.importorskip("tomllib")
    sys.path.insert(0, str(PACKAGE))
    import backend

    text = (PACKAGE / "pyproject.toml").read_text()
    assert backend.project() == tomllib.loads(text)["project"]


def test_version_is_the_package_and_the_headers():
    header = (TOP / "include/sandcell/version.h").read_text()
    for name, value in zip(("MAJOR", "MINOR", "PATCH"), VERSION.split(".")):
        assert f"SANDCELL_VERSION_{name} {value}\n" in header
