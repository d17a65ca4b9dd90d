"""put and get through a real container."""

import json

import streams


def symlink(target):
    def make(info):
        info.type, info.linkname = b"2", target
        return info

    return make


def test_files_go_in_and_come_out_again(cell):
    members = {"a.bin": bytes(range(256)) * 1000, "d": None, "d/e.txt": b"", "d/l": symlink("../a.bin")}
    outcome = streams.put(cell.client, "/workspace/in/new", members, parents=True)
    assert outcome.status == "ok", outcome
    assert outcome.header["files"] == 4
    assert cell.run("import os; os.stat('in/new/a.bin').st_uid == os.getuid()").output == "true"
    found, outcome = streams.get(cell.client, "in/new")
    assert outcome.status == "ok", outcome
    assert set(found) == {".", *members}
    assert found["a.bin"].data == members["a.bin"]
    assert found["a.bin"].mtime == 1700000000
    assert found["d/l"].linkname == "../a.bin"


def test_one_file_comes_as_one_entry(cell):
    cell.run("open('/tmp/one', 'wb').write(b'\\0\\xff')")
    found, outcome = streams.get(cell.client, "/tmp/one")
    assert outcome.status == "ok"
    assert {name: info.data for name, info in found.items()} == {"one": b"\0\xff"}


def test_more_than_the_window_goes_both_ways(cell):
    data = bytes(range(256)) * 20_000
    assert streams.put(cell.client, "/tmp", {"big": data}).status == "ok"
    found, _ = streams.get(cell.client, "/tmp/big")
    assert found["big"].data == data


def test_nothing_follows_a_link(cell):
    cell.run(
        "import os\n"
        "os.symlink('/etc', 'link'); os.symlink('/etc/hostname', 'result.txt'); os.mkdir('real')\n"
        "os.symlink('/tmp', 'real/out')"
    )
    for path in ("link", "link/hostname", "result.txt", "real/../real", ".."):
        _, outcome = streams.get(cell.client, "/workspace/" + path)
        assert outcome.status == "error", path
    assert "symbolic link to '/etc/hostname'" in streams.get(cell.client, "result.txt")[1].error
    outcome = streams.put(cell.client, "/workspace/link/new", {"f": b"x"}, parents=True)
    assert "symbolic link to '/etc'" in outcome.error
    outcome = streams.put(cell.client, "/workspace/real", {"out/f": b"x"})
    assert outcome.status == "error"
    assert "links are not followed" in outcome.error
    assert cell.run("os.path.exists('/tmp/f')").output == "false"


def test_special_files_are_skipped_and_named(cell):
    cell.run(
        "import os, socket\n"
        "os.mkdir('special'); os.mkfifo('special/pipe')\n"
        "s = socket.socket(socket.AF_UNIX); s.bind('special/sock')\n"
        "open('special/file', 'w').close()"
    )
    found, outcome = streams.get(cell.client, "special")
    assert set(found) == {".", "file"}
    assert json.loads(outcome.parts["skipped"]) == [["pipe", "a FIFO"], ["sock", "a socket"]]


def test_a_sparse_file_stays_sparse(cell):
    cell.run(
        "f = open('/tmp/sparse', 'wb'); f.seek(5 << 30); f.write(b'end'); f.truncate(9 << 30); f.close()"
    )
    data, outcome = streams.download(cell.client, "get", path="/tmp/sparse")
    assert outcome.status == "ok"
    assert len(data) < 1 << 20
    upload = streams.Upload(cell.client, "put", path="/tmp/back", parents=True)
    upload.send(data)
    assert upload.end().status == "ok"
    code = "f = open('/tmp/back/sparse', 'rb'); f.seek(5 << 30); [f.read(4), os.stat(f.fileno()).st_size, os.stat(f.fileno()).st_blocks < 100]"
    assert cell.run("import os\n" + code).output == "[b'end\\x00', 9663676416, True]"


def test_hard_links_stay_one_file(cell):
    cell.run("import os; os.mkdir('hl'); open('hl/a', 'w').write('x'); os.link('hl/a', 'hl/b')")
    data, _ = streams.download(cell.client, "get", path="hl")
    upload = streams.Upload(cell.client, "put", path="hl2", parents=True)
    upload.send(data)
    assert upload.end().status == "ok"
    assert cell.run("os.stat('hl2/a').st_nlink").output == "2"


def test_a_put_that_does_not_end_well_changes_nothing(cell):
    cell.run("import os; os.mkdir('keep'); open('keep/f', 'w').write('old')")
    tar = streams.tar_of({"f": b"new" * 100_000})
    for end in ({"sha256": "0" * 64}, {"bytes": 3}, {"abort": True}):
        upload = streams.Upload(cell.client, "put", path="keep")
        upload.send(tar)
        assert upload.end(**end).status in ("error", "interrupted")
    upload = streams.Upload(cell.client, "put", path="keep")
    upload.send(tar[:100_000])
    assert upload.end().status == "error"
    assert cell.run("[open('keep/f').read(), os.listdir('keep')]").output == '["old", ["f"]]'


def test_a_client_that_leaves_in_the_middle_of_a_put_changes_nothing(cell):
    cell.run("import os; os.makedirs('left', exist_ok=True); open('left/f', 'w').write('old')")
    other = cell.attach()
    upload = streams.Upload(other, "put", path="left")
    upload.send(streams.tar_of({"f": b"new" * 100_000})[:200_000])
    other.close()
    code = "import os, time\nwhile len(os.listdir('left')) > 1: time.sleep(0.01)\n[open('left/f').read(), os.listdir('left')]"
    assert cell.run(code, timeout_ms=30000).output == '["old", ["f"]]'


def test_an_interrupt_ends_a_transfer(cell):
    upload = streams.Upload(cell.client, "put", path="/tmp")
    upload.send(b"x" * 0)
    cell.client.write(streams.frames.pack({"type": "interrupt", "target": upload.number}))
    assert upload.wait().status == "interrupted"


def test_merge_keeps_and_replace_removes(cell):
    cell.run(
        "import os; os.makedirs('m/sub'); open('m/old', 'w').write('1'); open('m/sub/x', 'w').write('1')"
    )
    assert streams.put(cell.client, "m", {"sub": None, "sub/y": b"2", "old": b"2"}).status == "ok"
    assert cell.run("[sorted(os.listdir('m')), sorted(os.listdir('m/sub')), open('m/old').read()]").output == (
        '[["old", "sub"], ["x", "y"], "2"]'
    )
    assert streams.put(cell.client, "m", {"only": b"3"}, replace=True).status == "ok"
    assert cell.run("os.listdir('m')").output == '["only"]'


def test_a_directory_does_not_replace_a_file(cell):
    cell.run("import os; os.makedirs('kinds/d'); open('kinds/f', 'w').close()")
    for members in ({"f": None}, {"d": b"x"}):
        outcome = streams.put(cell.client, "kinds", {"fine": b"", **members})
        assert "directory on one side" in outcome.error
    assert cell.run("sorted(os.listdir('kinds'))").output == '["d", "f"]'


def test_what_the_user_may_not_write_is_refused(cell):
    assert streams.put(cell.client, "/etc", {"x": b""}).status == "error"
    outcome = streams.put(cell.client, "/nowhere", {"x": b""})
    assert "'/nowhere' does not exist" in outcome.error


def test_names_that_are_no_text(cell):
    cell.run("import os; os.mkdir('names'); open(b'names/\\xff\\n\\xc3\\xa9', 'w').close()")
    data, outcome = streams.download(cell.client, "get", path="names")
    upload = streams.Upload(cell.client, "put", path="names2", parents=True)
    upload.send(data)
    assert upload.end().status == "ok"
    assert cell.run("repr(os.listdir(b'names2'))").output == '"[b\'\\\\xff\\\\n\\\\xc3\\\\xa9\']"'


def test_limits(cell):
    cell.run("import os; os.mkdir('lim')\nfor i in range(5): open('lim/%d' % i, 'w').write('x' * 100)")
    assert "more than 3 files" in streams.get(cell.client, "lim", max_files=3)[1].error
    assert "more than 450 bytes" in streams.get(cell.client, "lim", max_bytes=450)[1].error
    assert streams.get(cell.client, "lim", max_files=6, max_bytes=500)[1].status == "ok"


def test_names_to_leave_out(cell):
    cell.run("import os; os.mkdir('skip'); open('skip/a', 'w').close(); open('skip/b', 'w').close()")
    assert set(streams.get(cell.client, "skip", skip=["a"])[0]) == {".", "b"}


def test_no_space_is_said_and_cleaned_up(cell):
    outcome = streams.put(cell.client, "/tmp", {"huge": bytes(40 << 20)})
    assert outcome.status == "error"
    assert "No space left" in outcome.error
    assert streams.put(cell.client, "/tmp", {"fits": bytes(20 << 20)}).status == "ok"


def test_a_file_that_grows_or_shrinks_is_packed_to_its_size(cell):
    cell.run(
        "import threading, os\n"
        "os.mkdir('grow'); f = open('grow/f', 'wb'); stop = False\n"
        "def work():\n"
        "    while not stop:\n"
        "        f.write(b'x' * 4096); f.flush()\n"
        "        if f.tell() > 4 << 20: f.seek(0); f.truncate(0)\n"
        "t = threading.Thread(target=work); t.start()"
    )
    for _ in range(20):
        found, outcome = streams.get(cell.client, "grow")
        assert outcome.status == "ok"
        assert len(found["f"].data) == found["f"].size
    cell.run("stop = True; t.join()")


def test_swapping_a_directory_for_a_link_gains_nothing(cell):
    cell.run(
        "import os, threading\n"
        "os.makedirs('swap/d', exist_ok=True); stop = False\n"
        "def flip():\n"
        "    while not stop:\n"
        "        try:\n"
        "            os.rename('swap/d', 'swap/d2'); os.symlink('/tmp', 'swap/d'); os.unlink('swap/d')\n"
        "            os.rename('swap/d2', 'swap/d')\n"
        "        except OSError: pass\n"
        "t = threading.Thread(target=flip); t.start()"
    )
    ends = set()
    for number in range(60):
        name = "x%d" % number
        ends.add(streams.put(cell.client, "/workspace/swap/d", {name: b"x"}).status)
        ends.add(streams.get(cell.client, "/workspace/swap/d/" + name)[1].status)
    cell.run("stop = True; t.join()")
    assert cell.run("[n for n in os.listdir('/tmp') if n.startswith('x')]").output == "[]"
    assert "ok" in ends
