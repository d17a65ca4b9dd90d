"""What the Python binding adds to a call: execute("1") on an open session, and the part of it
that the library's own function takes, call by call. Told by scripts/bench; exits with 3 when
the difference is over the goal."""
import argparse
import json
import os
import statistics
import sys
import time
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
GOAL_US = 60

sys.path.insert(0, str(TOP / "src/python"))
os.environ.setdefault("SANDCELL_LIBRARY", str(TOP / "build/lib/libsandcell.so.0"))


def timed(function, spent):
    """The function, noting what each call takes."""
    clock = time.perf_counter_ns

    def call(*args):
        began = clock()
        answer = function(*args)
        spent.append(clock() - began)
        return answer

    return call


def measure(rounds):
    """ns per call: (all of it, in the library), medians."""
    import sandcell
    from sandcell._library import lib

    inside, whole = [], []
    with sandcell.Session() as session:
        for _ in range(rounds // 10):
            session.execute("1")
        lib.sandcell_execute = timed(lib.sandcell_execute, inside)
        execute = timed(session.execute, whole)
        for _ in range(rounds):
            assert execute("1").output == 1
    added = statistics.median(all_ - c for all_, c in zip(whole, inside))
    return added, statistics.median(inside)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    added, library = measure(300 if args.quick else 3000)
    missed = added > GOAL_US * 1000
    if args.json:
        print(json.dumps({"what": "python adds to execute", "ns": int(added),
                          "library_ns": int(library), "goal_ns": GOAL_US * 1000}))
    else:
        print(f"python adds to execute(\"1\"): {added / 1000:.1f} us to {library / 1000:.1f} us"
              f"; goal: {GOAL_US} us{', MISSED' if missed else ''}")
    return 3 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
