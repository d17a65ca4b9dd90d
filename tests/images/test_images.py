"""What scripts/build-image made is what images/README.md promises.

Needs the docker command line and SANDCELL_TEST_HOST; every container here is removed by the
engine when it ends.
"""
import json
import os
import shutil
import subprocess

import pytest

HOST = os.environ.get("SANDCELL_TEST_HOST")
STRICT = os.environ.get("SANDCELL_TEST_STRICT") == "1"
COMMANDS = """ls dir pwd tree cat head tail file stat grep find which cut sort uniq wc awk sed
tr strings diff cmp md5sum sha256sum shasum jq xxd od echo printf date uname printenv env
unzip tar zip""".split()
MODULES = "numpy pandas scipy sklearn matplotlib.pyplot seaborn openpyxl cloudpickle".split()
IMAGES = ["sandcell/python", "sandcell/datasci"]


def docker(*args):
    return subprocess.run(["docker", "--host", HOST, *args], capture_output=True, text=True,
                          timeout=300, check=False)


@pytest.fixture(scope="module", autouse=True)
def engine():
    missing = None
    if not HOST:
        missing = "SANDCELL_TEST_HOST is not set"
    elif not shutil.which("docker"):
        missing = "there is no docker command"
    if missing and STRICT:
        pytest.fail(missing)
    if missing:
        pytest.skip(missing)


def run(image, *command, user="1234:1234"):
    """Runs a command as a session would: read-only, no network, an empty home."""
    done = docker("run", "--rm", "--network=none", "--read-only", "--tmpfs=/home/user:mode=777",
                  "--tmpfs=/tmp", "--env=HOME=/home/user", "--env=MPLBACKEND=Agg",
                  f"--user={user}", image, *command)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


@pytest.mark.parametrize("image", IMAGES)
def test_every_command_of_the_policy_is_there(image):
    out, _ = run(image, "sh", "-c", 'for c; do command -v "$c" >/dev/null || echo "$c"; done',
                 "sh", *COMMANDS)
    assert out == ""


@pytest.mark.parametrize("image", IMAGES)
def test_no_file_raises_rights(image):
    out, _ = run(image, "find", "/", "-xdev", "-type", "f", "-perm", "/6000", user="0:0")
    assert out == ""


@pytest.mark.parametrize("image", IMAGES)
def test_python_needs_to_compile_nothing(image):
    # A module without its .pyc would be compiled again by every session.
    out, _ = run(image, "python3", "-c", """
import importlib.util, pathlib
for path in pathlib.Path('/usr/lib').glob('python3*/**/*.py'):
    if path.stem.isidentifier() and not {'test', 'tests'} & set(path.parts):
        if not pathlib.Path(importlib.util.cache_from_source(path)).exists():
            print(path)
""")
    assert out == ""


@pytest.mark.parametrize("image", IMAGES)
def test_text_is_utf8(image):
    out, _ = run(image, "python3", "-c", "import locale; print(locale.getpreferredencoding())")
    assert out == "UTF-8\n"


@pytest.mark.parametrize("image", IMAGES)
def test_nothing_of_the_host_is_inside(image):
    out, _ = run(image, "sh", "-c", "cat /etc/apt/sources.list; ls /etc/apt/sources.list.d "
                                    "/etc/apt/preferences.d /etc/apt/auth.conf.d")
    suites = {line.split()[2] for line in out.splitlines() if line.startswith("deb ")}
    assert suites <= {"bookworm", "bookworm-updates", "bookworm-security"}


def test_the_libraries_are_there():
    run("sandcell/datasci", "python3", "-W", "error::ImportWarning", "-c",
        "\n".join(f"import {name}" for name in MODULES))


def test_matplotlib_looks_for_no_fonts():
    # A new home is a copy of /etc/skel; with the cache in it nothing is searched or written.
    _, err = run("sandcell/datasci", "sh", "-c", "cp -r /etc/skel/. ~ && python3 -c '"
                 "import logging; logging.basicConfig(level=logging.DEBUG);"
                 "import matplotlib.pyplot'")
    assert "Using fontManager instance from /home/user/.cache/matplotlib" in err
    assert "generated new fontManager" not in err


def test_an_image_says_what_it_was_made_from():
    done = docker("image", "inspect", "sandcell/python")
    config = json.loads(done.stdout)[0]["Config"]
    assert config["Labels"]["io.sandcell.image.inputs"]
    assert "LANG=C.UTF-8" in config["Env"]
