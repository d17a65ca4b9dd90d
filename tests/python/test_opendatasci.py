"""The OpenDataSci layer; each test also with a double of OpenDataSci's package in place.

The double has the published names and signatures, and is used in a Python of its own,
because whether it can be imported is decided once.
"""
import asyncio
import dataclasses
import inspect
import os
import subprocess
import sys


import pytest

import sandcell
from conftest import DOUBLE, environment
from sandcell import ContainerSandbox, ContainerSandboxFactory

WITH_DOUBLE = "opendatasci" in os.environ.get("SANDCELL_TEST_DOUBLE", "")


def run(main):
    return asyncio.run(asyncio.wait_for(main, 60))


async def log(sandbox):
    return (await sandbox.session.describe())["log"]


@pytest.mark.skipif(WITH_DOUBLE, reason="this is that run")
def test_all_of_it_with_opendatascis_own_classes():
    path = os.pathsep.join([str(DOUBLE), environment()["PYTHONPATH"],
                            os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__],
        env=environment(PYTHONPATH=path, SANDCELL_TEST_DOUBLE="opendatasci"),
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120)
    assert done.returncode == 0, done.stdout


def test_importing_sandcell_does_not_import_opendatasci():
    program = ("import sys, sandcell; assert 'opendatasci' not in sys.modules; "
               "sandcell.ContainerSandbox; "
               "print('opendatasci' in sys.modules)")
    done = subprocess.run(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, check=True,
        env=environment(PYTHONPATH=f"{environment()['PYTHONPATH']}:{DOUBLE}"))
    assert done.stdout == "True\n"


def test_opendatasci_that_is_broken_is_told_and_done_without(tmp_path):
    package = tmp_path / "opendatasci"
    package.mkdir()
    (package / "__init__.py").write_text("import a_module_that_is_missing\n")
    program = "import sandcell; print(sandcell.BaseSandbox.__module__)"
    done = subprocess.run(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, env=environment(PYTHONPATH=f"{environment()['PYTHONPATH']}:{tmp_path}"))
    assert done.stdout == "sandcell._contract\n"
    assert "a_module_that_is_missing" in done.stderr


# ---- the interface ----


def published():
    sys.path.insert(0, str(DOUBLE))
    try:
        from opendatasci.sandbox import base
    finally:
        sys.path.remove(str(DOUBLE))
    return base


def parameters(function):
    return [(p.name, p.kind, p.default)
            for p in inspect.signature(function).parameters.values()]


def test_classes_are_opendatascis_when_it_is_there():
    from sandcell import _contract

    if WITH_DOUBLE:
        base = published()
        assert issubclass(ContainerSandbox, base.BaseSandbox)
        assert issubclass(ContainerSandboxFactory, base.BaseSandboxFactory)
        assert sandcell.SandboxExecResult is base.SandboxExecResult
    else:
        assert issubclass(ContainerSandbox, _contract.OurSandbox)
        assert issubclass(ContainerSandboxFactory, _contract.OurSandboxFactory)


@pytest.mark.parametrize("method", ["execute", "execute_cli", "reset", "close"])
def test_methods_take_what_is_published(method):
    base = published()
    wanted = getattr(base.BaseSandbox, method)
    from sandcell._contract import OurSandbox

    for kind in (ContainerSandbox, OurSandbox):
        ours = getattr(kind, method)
        extra = parameters(ours)[len(parameters(wanted)):]
        assert parameters(ours)[:len(parameters(wanted))] == parameters(wanted)
        assert all(default is not inspect.Parameter.empty for _, _, default in extra)
        assert inspect.iscoroutinefunction(ours) == inspect.iscoroutinefunction(wanted)


def test_factory_takes_what_is_published():
    base = published()
    from sandcell._contract import OurSandboxFactory

    for kind in (ContainerSandboxFactory, OurSandboxFactory):
        assert parameters(kind.create) == parameters(base.BaseSandboxFactory.create)
    assert hasattr(ContainerSandboxFactory().create(), "__aenter__")


def test_abstract_methods_are_those_published():
    base = published()
    from sandcell import _contract

    assert _contract.OurSandbox.__abstractmethods__ == base.BaseSandbox.__abstractmethods__
    assert (_contract.OurSandboxFactory.__abstractmethods__
            == base.BaseSandboxFactory.__abstractmethods__)


def test_result_has_the_published_fields_first():
    wanted = [(f.name, f.default) for f in dataclasses.fields(published().SandboxExecResult)]
    from sandcell._contract import OurResult

    for kind in (sandcell.SandboxExecResult, OurResult, sandcell.ExecResult):
        found = [(f.name, f.default) for f in dataclasses.fields(kind)]
        assert found[:5] == wanted
    assert len(dataclasses.fields(OurResult)) == 5


def test_constructors_take_srt_sandboxs_arguments():
    first, second = list(inspect.signature(ContainerSandbox).parameters.values())[:2]
    assert (first.name, first.default) == ("workspace_path", None)
    assert (second.name, second.kind, second.default) == (
        "command_timeout", inspect.Parameter.KEYWORD_ONLY, None)
    (first, *_) = inspect.signature(ContainerSandboxFactory).parameters.values()
    assert (first.name, first.kind, first.default) == (
        "command_timeout", inspect.Parameter.KEYWORD_ONLY, None)


def test_allowed_commands():
    assert sandcell.ALLOWED_CLI_COMMANDS == published().ALLOWED_CLI_COMMANDS
    assert isinstance(sandcell.ALLOWED_CLI_COMMANDS, frozenset)


def test_validate_cli_command_is_pure_and_says_what_is_wrong():
    assert sandcell.validate_cli_command("ls -l") is None
    assert parameters(sandcell.validate_cli_command)[0] == parameters(
        published().validate_cli_command)[0]
    for command in ("", "rm -rf x", "ls; id", "ls > x", "ls `id`", "ls $(id)", "ls\0", "\ud800"):
        message = sandcell.validate_cli_command(command)
        assert isinstance(message, str) and message, command


# ---- behaviour ----


def test_results(fake):
    async def main():
        async with ContainerSandboxFactory().create() as sandbox:
            result = await sandbox.execute("value 3\nprint x\nwarn y")
            assert isinstance(result, sandcell.SandboxExecResult)
            assert isinstance(result, sandcell.ExecResult)
            assert (result.success, result.output, result.stdout) == (True, 3, "x\n")
            assert (result.error, result.stderr) == (None, "y\n")
            failed = await sandbox.execute("raise ValueError: no")
            assert (failed.success, failed.error) == (False, "ValueError: no")
            listed = await sandbox.execute_cli("ls -l")
            assert (listed.success, listed.output, listed.code) == (True, None, "ls -l")
            assert sandbox.get_history() == [result, failed, listed]

    run(main())


def test_promised_names_are_defined_before_anything_else(tmp_path):
    async def main():
        async with ContainerSandboxFactory().create(tmp_path) as sandbox:
            await sandbox.execute("value 1")
            lines = await log(sandbox)
        assert f"workspace={tmp_path} " in lines[0]
        assert "workspacedir" in lines[1] and lines[2] == "execute value 1"

    run(main())


def test_prelude_defines_the_promised_names(tmp_path):
    from sandcell import opendatasci

    names = {}
    exec(opendatasci._PRELUDE.replace("/workspace", str(tmp_path)), names)
    assert names["workspacedir"] == tmp_path
    assert names["opendatasci_directory"] == tmp_path / ".opendatasci"
    assert (tmp_path / ".opendatasci").is_dir()
    assert set(names) - {"__builtins__"} == {"workspacedir", "opendatasci_directory"}


def test_closed_however_the_body_ended(fake):
    async def body(error):
        async with ContainerSandboxFactory().create() as sandbox:
            await sandbox.execute("value 1")
            raise error

    for error in (ValueError("x"), asyncio.CancelledError(), KeyboardInterrupt()):
        before = fake.closed
        with pytest.raises(type(error)):
            asyncio.run(body(error))
        assert fake.closed == before + 1 and fake.live()["sessions"] == 0


def test_closed_when_the_task_is_cancelled(fake):
    async def body():
        async with ContainerSandboxFactory().create() as sandbox:
            await sandbox.execute("block 60000")

    async def main():
        task = asyncio.ensure_future(body())
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(main())
    assert fake.live()["sessions"] == 0


def test_factory_raises_when_there_is_no_container(fake):
    async def main():
        fake.set(open_code=-7)
        async with ContainerSandboxFactory().create():
            pass

    with pytest.raises(sandcell.NotFoundError):
        run(main())


def test_sandbox_without_a_container_gives_failed_results(fake):
    async def main():
        fake.set(open_code=-7)
        sandbox = ContainerSandbox()
        result = await sandbox.execute("value 1")
        assert not result.success and result.error.startswith("SandcellError: ")
        assert isinstance(result, sandcell.SandboxExecResult)
        fake.set(open_code=0)
        assert (await sandbox.execute("value 1")).output == 1
        await sandbox.close()

    run(main())


def test_refused_command_never_reaches_a_container(fake):
    async def main():
        sandbox = ContainerSandbox()
        result = await sandbox.execute_cli("rm -rf /")
        assert not result.success and result.error.startswith("Error: ")
        assert (result.status, result.code) == ("denied", "rm -rf /")
        assert isinstance(result, sandcell.SandboxExecResult)
        assert sandbox.get_history() == [result]
        await sandbox.close()

    run(main())
    assert fake.live()["sessions"] == 0


def test_timeout_is_called_so(fake):
    async def main():
        async with ContainerSandboxFactory(command_timeout=5).create() as sandbox:
            result = await sandbox.execute("status 2")
            assert not result.success and result.status == "timeout"
            assert result.error.startswith("TimeoutError: execution timed out after 5s")
            assert "timeout=5000" in (await log(sandbox))[0]

    run(main())


def test_reset_clears_history_now_and_variables_before_the_next_call():
    async def main():
        async with ContainerSandboxFactory().create() as sandbox:
            await sandbox.execute("value 1")
            assert sandbox.reset() is None
            assert sandbox.get_history() == []
            assert "reset" not in await log(sandbox)
            await sandbox.execute("value 2")
            lines = await log(sandbox)
            assert lines[-3] == "reset" and "workspacedir" in lines[-2]
            assert lines[-1] == "execute value 2"
            await sandbox.execute("value 3")
            assert (await log(sandbox)).count("reset") == 1

    run(main())


def test_reset_waits_for_the_call_in_flight():
    async def main():
        async with ContainerSandboxFactory().create() as sandbox:
            running = asyncio.ensure_future(sandbox.execute("block 100\nvalue 1"))
            await asyncio.sleep(0.02)
            sandbox.reset()
            following = asyncio.ensure_future(sandbox.execute_cli("ls"))
            result = await running
            assert result.output == 1 and "reset" not in (await log(sandbox))[:3]
            last = await following
            assert sandbox.get_history() == [last]
            lines = await log(sandbox)
            assert lines.index("execute block 100") < lines.index("reset") < lines.index("cli ls")

    run(main())


def test_calls_on_one_sandbox_take_turns():
    async def main():
        async with ContainerSandboxFactory().create() as sandbox:
            results = await asyncio.gather(
                *(sandbox.execute(f"block 1\nvalue {n}") for n in range(20)))
            assert [r.output for r in results] == list(range(20))
            assert sandbox.get_history() == results

    run(main())


def test_names_are_defined_again_when_the_state_was_lost():
    async def main():
        async with ContainerSandboxFactory().create() as sandbox:
            lost = await sandbox.execute("status 4")
            assert not lost.state_preserved
            await sandbox.execute("value 1")
            lines = await log(sandbox)
            assert "workspacedir" in lines[-2] and lines[-1] == "execute value 1"

    run(main())


def test_lines_of_stdout_arrive_one_by_one():
    async def main():
        lines = []

        async def on_line(line):
            await asyncio.sleep(0)
            lines.append(line)

        async with ContainerSandboxFactory().create() as sandbox:
            result = await sandbox.execute(
                "print one\nwarn no\nprint two 2\nprint \nbytes c3a9", on_stdout_line=on_line)
        assert lines == ["one", "two 2", "é"]
        assert result.stdout == "one\ntwo 2\n\né"

    run(main())


def test_cancelled_call_interrupts_the_code():
    async def main():
        async with ContainerSandboxFactory().create() as sandbox:
            task = asyncio.ensure_future(sandbox.execute("block 60000"))
            await asyncio.sleep(0.05)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert (await sandbox.execute("value 1")).output == 1

    run(main())


def test_limits_reach_the_library():
    async def main():
        factory = ContainerSandboxFactory(image="img", memory="1g", cpus=0.5)
        async with factory.create() as sandbox:
            assert "image=img" in (await log(sandbox))[0]
            assert f"memory={1 << 30} cpus=500" in (await log(sandbox))[0]

    run(main())


def test_fifty_sandboxes_at_once(fake):
    async def work(factory, number):
        async with factory.create() as sandbox:
            return [(await sandbox.execute(f"block 1\nvalue {number}")).output
                    for _ in range(10)]

    async def main():
        factory = ContainerSandboxFactory()
        results = await asyncio.gather(*(work(factory, n) for n in range(50)))
        assert results == [[n] * 10 for n in range(50)]

    run(main())
    assert fake.live()["sessions"] == 0
