"""The OpenDataSci layer."""
import asyncio
import time

import pytest

import sandcell
from sandcell import ContainerSandbox, ContainerSandboxFactory


def run(main):
    return asyncio.run(asyncio.wait_for(main, 300))


def test_promised_names(tmp_path):
    async def main():
        async with ContainerSandboxFactory(memory="256m").create(tmp_path) as sandbox:
            result = await sandbox.execute(
                "import pathlib\nresult = [workspacedir == pathlib.Path('/workspace'), "
                "opendatasci_directory.is_dir(), callable(save_result)]")
            assert result.output == [True, True, True]
            await sandbox.execute("(opendatasci_directory / 'x').write_text('y')")
            assert (tmp_path / ".opendatasci" / "x").read_text() == "y"
            saved = await sandbox.execute("save_result('n', 5)")
            assert saved.success, saved

    run(main())


def test_result_is_the_output_and_variables_stay():
    async def main():
        async with ContainerSandboxFactory().create() as sandbox:
            assert (await sandbox.execute("x = 20\nresult = x * 2")).output == 40
            assert (await sandbox.execute("x")).output == 20
            listed = await sandbox.execute_cli("echo hi | head -1")
            assert (listed.success, listed.stdout, listed.error) == (True, "hi\n", None)

    run(main())


def test_endings_have_opendatascis_words():
    async def main():
        async with ContainerSandboxFactory(command_timeout=1).create() as sandbox:
            await sandbox.execute("x = 1")
            late = await sandbox.execute("while True: pass")
            assert not late.success and late.error.startswith("TimeoutError: ")
            assert (await sandbox.execute("x")).output == 1
            denied = await sandbox.execute_cli("curl http://example.com")
            assert not denied.success and denied.error.startswith("Error: ")
            failed = await sandbox.execute("raise ValueError('no')")
            assert not failed.success and "ValueError: no" in failed.error

    run(main())


def test_reset_forgets_variables_and_keeps_the_promises():
    async def main():
        async with ContainerSandboxFactory().create() as sandbox:
            await sandbox.execute("x = 1")
            running = asyncio.ensure_future(sandbox.execute("import time; time.sleep(.3); x"))
            await asyncio.sleep(0.1)
            sandbox.reset()
            assert sandbox.get_history() == []
            assert (await running).output == 1
            after = await sandbox.execute("('x' in globals(), opendatasci_directory.is_dir())")
            assert after.output == "(False, True)"
            assert sandbox.get_history() == [after]

    run(main())


def test_promised_names_are_back_after_a_crash():
    async def main():
        async with ContainerSandboxFactory().create() as sandbox:
            crashed = await sandbox.execute("import os; os._exit(1)")
            assert not crashed.success
            assert (await sandbox.execute("str(workspacedir)")).output == "/workspace"

    run(main())


def test_lines_arrive_while_the_code_runs():
    async def main():
        moments = []

        async def on_line(line):
            moments.append((line, time.monotonic()))

        async with ContainerSandboxFactory().create() as sandbox:
            await sandbox.execute(
                "import time\nfor n in range(3): print('line', n, flush=True); time.sleep(.3)",
                on_stdout_line=on_line)
            assert [line for line, _ in moments] == ["line 0", "line 1", "line 2"]
            assert time.monotonic() - moments[0][1] > 0.5

    run(main())


def test_sandbox_opens_with_its_first_call():
    async def main():
        sandbox = ContainerSandbox(command_timeout=60)
        assert (await sandbox.execute("6 * 7")).output == 42
        await sandbox.close()

    run(main())


@pytest.mark.parametrize("count", [50])
def test_many_at_once_lose_and_swap_nothing(count):
    async def work(factory, number):
        async with factory.create() as sandbox:
            await sandbox.execute(f"x = {number}")
            results = [await sandbox.execute(f"print(x)\n[x, {n}]") for n in range(3)]
            return [(r.output, r.stdout) for r in results], sandbox.session.container

    async def main():
        factory = ContainerSandboxFactory(memory="128m")
        done = await asyncio.gather(*(work(factory, n) for n in range(count)))
        assert [outputs for outputs, _ in done] == [
            [([n, k], f"{n}\n") for k in range(3)] for n in range(count)]
        return {container for _, container in done}

    from test_calls import exists

    containers = run(main())
    assert len(containers) == count and not any(map(exists, containers))


def test_results_are_both_kinds():
    assert issubclass(sandcell.ExecResult, sandcell.SandboxExecResult)
