"""A data-analysis agent, without a model: its turns are scripted, the sandbox is real.

    python agent.py

An agent writes code, reads what came of it, and writes the next piece. Here the second turn
makes a mistake, as models do; the third reacts to the error that it got back. Variables and
files stay from turn to turn. A real agent gets the same objects: with OpenDataSci,
`Agent(sandbox_factory=sandcell.ContainerSandboxFactory(image="sandcell/datasci"))`.
"""
import asyncio
import tempfile
from pathlib import Path

import sandcell

SALES = """\
region,month,units,price
north,2024-01,120,9.5
north,2024-02,135,9.5
south,2024-01,80,11.0
south,2024-02,,11.0
south,2024-03,95,11.5
west,2024-01,200,8.0
west,2024-02,180,8.25
"""


def load(observation):
    return "import pandas as pd\nsales = pd.read_csv(workspacedir / 'sales.csv')\nsales.shape"


def compute(observation):
    return "sales['revenue'] = sales['units'] * sales['unit_price']"


def repair(observation):
    assert "KeyError: 'unit_price'" in observation, observation
    return ("sales['revenue'] = sales['units'] * sales['price']\n"
            "missing = int(sales['revenue'].isna().sum())\n"
            "print(missing, 'month without units')")


def answer(observation):
    assert observation == "1 month without units", observation
    return ("totals = sales.groupby('region')['revenue'].sum().round(2)\n"
            "totals.to_csv(opendatasci_directory / 'totals.csv')\n"
            "result = totals.to_dict()")


TURNS = [load, compute, repair, answer]


def observe(result):
    """What the model would be told."""
    if not result.success:
        return result.error
    return "\n".join(filter(None, [result.stdout.strip(),
                                   "" if result.output is None else str(result.output)]))


async def work(sandbox):
    observation = "There is a file of sales. What did each region earn?"
    for number, turn in enumerate(TURNS, 1):
        code = turn(observation)
        result = await sandbox.execute(code)
        observation = observe(result)
        print(f"turn {number}: {'ok' if result.success else 'failed'}: "
              f"{observation.splitlines()[-1] if observation else ''}")
    listing = await sandbox.execute_cli("cat .opendatasci/totals.csv | sort | head -3")
    print(listing.stdout, end="")
    return result.output


async def main():
    factory = sandcell.ContainerSandboxFactory(
        image="sandcell/datasci", memory="1g", command_timeout=60)
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder)
        workspace.chmod(0o777)
        (workspace / "sales.csv").write_text(SALES)
        async with factory.create(workspace) as sandbox:
            print("answer:", await work(sandbox))


if __name__ == "__main__":
    asyncio.run(main())
