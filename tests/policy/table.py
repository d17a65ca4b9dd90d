"""The table of commands in tests/data/cli, and the files that its commands are about."""

import json
import pathlib

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "data" / "cli"

# Run inside the container: makes the files in the current folder, always the same.
FIXTURE = r'''
import io, os, tarfile, zipfile
def fixture():
    files = {
        "t.txt": "alpha|x 5\nbeta;y 20\ncan't > 30\n", "f": "b\na\nb\n", "g": "a\nb\nc\n", "nums": "10 x\n9 y\n2 z\n",
        "data.json": '{"a":[1,2,3],"b":{"import":"x"},"n":"v"}\n', "data.csv": "id,name\n1,Ann\n2,Bob\n",
        "d/one.c": "1\n", "d/two.h": "2\n", "d/sub/three.c": "3\n", "sp ace": "space\n", "bin": bytes(range(16)),
    }
    for name, content in files.items():
        if os.path.dirname(name):
            os.makedirs(os.path.dirname(name), exist_ok=True)
        with open(name, "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
    for name, mode in (("a.tar", "w"), ("a.tgz", "w:gz")):
        with tarfile.open(name, mode) as archive:
            for member in ("f", "d", "d/one.c"):
                info = archive.gettarinfo(member)
                info.mtime = 0
                archive.addfile(info, open(member, "rb") if info.isfile() else None)
    with zipfile.ZipFile("z.zip", "w") as archive:
        for member in ("f", "d/one.c"):
            archive.writestr(zipfile.ZipInfo(member), open(member).read())
'''


def rows(allowed=None):
    found = []
    for path in sorted(FOLDER.glob("*.jsonl")):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            row = json.loads(line)
            row["id"] = "%s:%d" % (path.stem, number)
            if allowed is None or row["allowed"] == allowed:
                found.append(row)
    return found
