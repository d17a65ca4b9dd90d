"""Builds the wheel (PEP 517) with the standard library alone, so that it needs no network.

The wheel carries the library: the file that SANDCELL_LIBRARY or the setting `library` names,
else the one in the checkout's build folder, else one that is built for it. With the setting
library=none it carries none, and finds one on the system when it is imported:

    pip install ./src/python
    pip install --config-settings library=none ./src/python
"""
import ast
import base64
import hashlib
import os
import re
import shutil
import subprocess
import sysconfig
import tempfile
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
TOP = HERE.parents[1]
SONAME = "libsandcell.so.0"
DATE = (1980, 1, 1, 0, 0, 0)  # the same bytes from the same sources


class UnsupportedOperation(Exception):
    """What PEP 517 wants build_sdist() to raise."""


# ---- what the wheel is ----


def project():
    """The table [project] of pyproject.toml; its values are Python literals as well."""
    text = (HERE / "pyproject.toml").read_text(encoding="utf-8")
    table = re.search(r"^\[project\]\n(.*?)(?=^\[|\Z)", text, re.M | re.S)[1]
    lines = re.findall(r"^([\w-]+) = (.*)$", table, re.M)
    return {key: ast.literal_eval(value) for key, value in lines}


def version():
    text = (HERE / "sandcell/_version.py").read_text(encoding="utf-8")
    return re.search(r'^__version__ = "([^"]+)"$', text, re.M)[1]


def metadata():
    about = project()
    lines = [
        "Metadata-Version: 2.1",
        f"Name: {about['name']}",
        f"Version: {version()}",
        f"Summary: {about['description']}",
        f"License: {about['license']}",
        f"Keywords: {','.join(about['keywords'])}",
        f"Requires-Python: {about['requires-python']}",
        *(f"Classifier: {each}" for each in about["classifiers"]),
    ]
    return "\n".join(lines) + "\n"


# ---- the library ----


def build_library(folder):
    """Build it from the checkout's sources."""
    subprocess.run(
        ["cmake", "-S", str(TOP), "-B", folder, "-DBUILD_TESTING=OFF",
         "-DCMAKE_BUILD_TYPE=Release"], check=True)
    subprocess.run(["cmake", "--build", folder, "--target", "sandcell"], check=True)
    return Path(folder, "lib", SONAME).read_bytes()


def library(settings):
    """Its bytes, or None."""
    named = settings.get("library") or os.environ.get("SANDCELL_LIBRARY")
    if named == "none":
        return None
    built = Path(named) if named else TOP / "build/lib" / SONAME
    if named or built.exists():
        return built.read_bytes()
    if not (TOP / "CMakeLists.txt").exists() or not shutil.which("cmake"):
        raise SystemExit(
            f"sandcell: there is no {SONAME} to put into the wheel: run scripts/build, or name "
            "it in SANDCELL_LIBRARY, or do without by --config-settings library=none")
    with tempfile.TemporaryDirectory() as folder:
        return build_library(folder)


# ---- the archive ----


def files(binary):
    """(name in the archive, content), in order."""
    for path in sorted((HERE / "sandcell").iterdir()):
        if path.suffix == ".py" or path.name == "py.typed":
            yield f"sandcell/{path.name}", path.read_bytes()
    if binary is not None:
        yield f"sandcell/{SONAME}", binary
    if (TOP / "LICENSE").exists():
        yield f"{info_folder()}/LICENSE", (TOP / "LICENSE").read_bytes()
    yield f"{info_folder()}/METADATA", metadata().encode()
    yield f"{info_folder()}/WHEEL", (
        "Wheel-Version: 1.0\nGenerator: sandcell\n"
        f"Root-Is-Purelib: {'true' if binary is None else 'false'}\nTag: {tag(binary)}\n"
    ).encode()


def tag(binary):
    if binary is None:
        return "py3-none-any"
    return "py3-none-" + re.sub(r"[^a-z0-9]", "_", sysconfig.get_platform().lower())


def info_folder():
    return f"sandcell-{version()}.dist-info"


def record_line(name, data):
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(data)}"


def add(archive, name, data):
    entry = zipfile.ZipInfo(name, DATE)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = (0o755 if name.endswith(SONAME) else 0o644) << 16
    archive.writestr(entry, data)


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    binary = library(config_settings or {})
    name = f"sandcell-{version()}-{tag(binary)}.whl"
    record = []
    with zipfile.ZipFile(Path(wheel_directory, name), "w") as archive:
        for path, data in files(binary):
            add(archive, path, data)
            record.append(record_line(path, data))
        path = f"{info_folder()}/RECORD"
        add(archive, path, "\n".join([*record, f"{path},,", ""]).encode())
    return name


def build_sdist(sdist_directory, config_settings=None):
    raise UnsupportedOperation("the sources are the checkout: the library is built from it")
