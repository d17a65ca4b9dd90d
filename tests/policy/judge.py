"""The policy, asked from Python through the program policy_form of the build folder."""

import json
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("SANDCELL_BUILD_DIR", ROOT / "build"))
QUOTED = 1  # SANDCELL_CLI_QUOTED_OPERATORS


class Refused(Exception):
    """The message is the policy's."""


class Judge:
    def __init__(self):
        self.process = subprocess.Popen(
            [str(BUILD / "tests" / "policy_form")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, command, flags=0):
        raw = command if isinstance(command, bytes) else command.encode("utf-8", "surrogateescape")
        self.process.stdin.write("%d %s\n" % (flags, raw.hex()))
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def form(self, command, flags=0):
        answer = self.ask(command, flags)
        if "refused" in answer:
            raise Refused(answer["refused"])
        return answer["form"]

    def refusal(self, command, flags=0):
        """The message, None for an allowed command."""
        return self.ask(command, flags).get("refused")


judge = Judge()
