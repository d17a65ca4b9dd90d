"""The checks of the sources find what they are for, and nothing else."""
import subprocess
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"


def check(name, root):
    done = subprocess.run([SCRIPTS / name, root], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


@pytest.fixture
def tree(tmp_path):
    """Writes one file into an otherwise clean source tree and returns the tree."""
    def write(path, text):
        for clean in ("src/base/clean.c", path):
            (tmp_path / clean).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "src/base/clean.c").write_text('#include "base/clean.h"\n')
        (tmp_path / path).write_text(text)
        return tmp_path
    return write


@pytest.mark.parametrize("path, line", [
    ("src/base/x.c", '#include "engine/http.h"'),
    ("src/engine/x.c", '#include "session/session.h"'),
    ("src/engine/x.c", '#  include "cli/cmd.h"'),
    ("src/session/deep/x.c", '#include "cli/cmd.h"'),
    ("src/cli/x.c", '#include "base/buf.h"'),
    ("src/cli/x.c", '#include "sandcell/sandcell.h"'),
    ("src/api.c", '#include "cli/cmd.h"'),
    ("include/sandcell/x.h", '#include "base/buf.h"'),
    ("src/novel/x.c", "int x;"),
])
def test_layers_refuses(tree, path, line):
    rc, out = check("check-layers", tree(path, line + "\n"))
    assert rc == 1
    assert path in out


@pytest.mark.parametrize("path, line", [
    ("src/base/x.c", '#include "sandcell/error.h"'),
    ("src/engine/x.c", '#include "http.h"'),
    ("src/session/deep/x.c", '#include "engine/http.h"'),
    ("src/api.c", '#include "session/session.h"'),
    ("src/cli/x.c", "#include <sandcell/sandcell.h>"),
    ("src/cli/x.c", "#include <curl/curl.h>"),
    ("include/sandcell/x.h", '#include "types.h"'),
])
def test_layers_allows(tree, path, line):
    rc, out = check("check-layers", tree(path, line + "\n"))
    assert rc == 0, out


@pytest.mark.parametrize("path, line", [
    ("src/base/x.c", "strcpy(a, b);"),
    ("src/base/x.c", "x = atoi (s);"),
    ("src/engine/x.c", "p = malloc(3);"),
    ("src/session/x.c", "free(p);"),
    ("src/session/x.c", 'printf("x");'),
    ("src/cli/x.c", "p = strdup(s);"),
    ("src/base/x.c", "if ((rc = f(a, b)) < 0)"),
    ("src/base/x.c", "if (a &&\n    (rc = f()))"),
    ("src/base/x.c", '"a \\" string"; system(s);'),
])
def test_banned_refuses(tree, path, line):
    rc, out = check("check-banned", tree(path, "int x;\n" + line + "\n"))
    assert rc == 1
    assert f"{path}:2: " in out


@pytest.mark.parametrize("path, line", [
    ("src/base/x.c", "/* strcpy(a, b) */"),
    ("src/base/x.c", "int x; // strcpy(a, b)"),
    ("src/base/x.c", 'say("system(3)");'),
    ("src/base/x.c", "sc_free(p); strtok_r(a, b, c); ops->free(p); x.signal(1);"),
    ("src/base/alloc.c", "free(realloc(p, 2));"),
    ("src/cli/x.c", 'printf("x"); exit(1);'),
    ("src/base/x.c", "if (a == b && c != d && e <= f && g >= h)\n\tx = y;"),
])
def test_banned_allows(tree, path, line):
    rc, out = check("check-banned", tree(path, line + "\n"))
    assert rc == 0, out


@pytest.mark.parametrize("text, complaint", [
    ("int x;\n" * 801, "801 lines"),
    ("int x;", "no newline"),
    ("int x; \n", ":1: blanks"),
    ("int x;\n\t\n", ":2: blanks"),
])
def test_files_refuses(tree, text, complaint):
    rc, out = check("check-files", tree("src/base/x.c", text))
    assert rc == 1
    assert complaint in out


def test_files_allows_the_most(tree):
    rc, out = check("check-files", tree("src/base/x.c", "int x;\n" * 800))
    assert rc == 0, out
