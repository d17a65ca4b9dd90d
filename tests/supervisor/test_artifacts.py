"""What a call did to the files of the workspace."""

import json


def changes(outcome):
    return json.loads(outcome.parts["artifacts"])


def test_created_changed_and_removed_files_are_named(cell):
    cell.run("for name in ('keep', 'change', 'remove'): open(name, 'w').write(name)")
    outcome = cell.run(
        "import os\n"
        "open('change', 'a').write('!')\n"
        "os.remove('remove')\n"
        "os.makedirs('a/b'); open('a/b/new', 'w').write('12345')\n"
        "os.symlink('/etc', 'link'); 'done'",
        artifacts=True,
    )
    assert outcome.output == '"done"'
    found = changes(outcome)
    assert found["created"] == ["a/b/new", "link"], found
    assert found["changed"] == ["change"] and found["removed"] == ["remove"], found
    assert found["sizes"]["a/b/new"] == 5 and found["complete"] is True, found


def test_files_are_named_after_a_kill_too(cell):
    outcome = cell.run("open('last', 'w').write('x')\nimport os; os._exit(1)", artifacts=True)
    assert outcome.status == "exited"
    assert "last" in changes(outcome)["created"]


def test_names_that_are_no_text_do_no_harm(cell):
    outcome = cell.run("open(b'/workspace/\\xff\\xfe', 'w').close()", artifacts=True)
    assert changes(outcome)["created"] == ["\ufffd\ufffd"]


def test_a_huge_workspace_is_said_to_be_incomplete(make_cell):
    cell = make_cell()
    outcome = cell.run("for i in range(1100): open(f'f{i}', 'w').close()", artifacts=True)
    found = changes(outcome)
    assert len(found["created"]) == 1000 and found["complete"] is False


def test_nothing_is_listed_unless_asked(cell):
    assert "artifacts" not in cell.run("open('x', 'w').close()").parts
