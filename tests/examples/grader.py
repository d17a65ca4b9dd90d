"""Grades twenty submissions that nobody has read, each in a container of its own.

    python grader.py

The exercise: `primes(n)`, the list of the primes below n. Some of the submissions are wrong,
and some do what submissions do: loop for ever, eat memory, fork, print without end, leave, read
the answers, open connections. Each costs its author the points, and nobody else anything.
"""
import asyncio

import sandcell

AT_ONCE = 4
TESTS = """
expected = {0: [], 2: [], 3: [2], 20: [2, 3, 5, 7, 11, 13, 17, 19]}
passed = [n for n, answer in expected.items() if primes(n) == answer]
result = [len(passed), len(expected)]
"""

SIEVE = """
def primes(n):
    sieve = [True] * n
    found = []
    for k in range(2, n):
        if sieve[k]:
            found.append(k)
            sieve[k * k::k] = [False] * len(range(k * k, n, k))
    return found
"""
DIVIDE = "def primes(n): return [k for k in range(2, n) if all(k % d for d in range(2, k))]"
SUBMISSIONS = {
    "ada": SIEVE,
    "alan": DIVIDE,
    "barbara": DIVIDE.replace("range(2, n)", "range(1, n)"),  # 1 is no prime
    "bob": "def primes(n): return [2, 3, 5, 7, 11, 13, 17, 19]",
    "carol": "def primes(n):\n    while True: pass",
    "dave": "def primes(n): return [0] * 10 ** 11",
    "edsger": SIEVE,
    "eve": "import os\nwhile True: os.fork()",
    "frances": "def primes(n): return",
    "grace": DIVIDE,
    "heidi": "import sys; sys.exit(0)",
    "ivan": "import os; os._exit(0)",
    "judy": "while True: print('A' * 1000)",
    "ken": "import socket; socket.create_connection(('192.0.2.1', 80), timeout=5)",
    "leslie": SIEVE,
    "mallory": "import os; os.system('kill -9 1')\n" + SIEVE,
    "niklaus": "def primes(n) return []",
    "olivia": "expected = None\n" + DIVIDE,
    "peggy": "open('/etc/passwd', 'a').write('peggy::0:0::/:/bin/sh')",
    "trent": "import ctypes; ctypes.string_at(0)",
}
LIMITS = dict(memory="96m", pids=32, timeout=3, output_max="16k")


async def grade(code):
    """(points, remark)."""
    async with sandcell.AsyncSession(**LIMITS) as session:
        submitted = await session.execute(code)
        if submitted.status != "ok":  # sys.exit(0) is a success, too
            return 0, remark(submitted)
        tested = await session.execute(TESTS)
        if not tested.success:
            return 0, remark(tested)
        points, of = tested.output
        return points, "all tests passed" if points == of else f"{points} of {of} tests passed"


def remark(result):
    lines = (result.error or "").strip().splitlines()
    return f"{result.status}: {lines[-1] if lines else ''}"


async def main():
    room = asyncio.Semaphore(AT_ONCE)

    async def take_turn(name, code):
        async with room:
            return name, await grade(code)

    graded = await asyncio.gather(*(take_turn(*each) for each in SUBMISSIONS.items()))
    for name, (points, why) in graded:
        print(f"{name:8} {points}  {why[:90]}")


if __name__ == "__main__":
    asyncio.run(main())
