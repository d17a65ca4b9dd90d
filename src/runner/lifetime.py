"""How long a session lives: without a client, without a call, and at all."""

from _sandcell.loop import now

FIRST_CLIENT_MS = 60_000  # how long the engine may take to bring the first one

# Exit status of PID 1, which the engine's events show; 0: it was closed or stopped.
LEASE_OVER = 80
IDLE_OVER = 81
LIFE_OVER = 82


class Lifetime:
    """Three clocks; when one has run out, end(status, reason) is called."""

    def __init__(self, loop, setup, is_idle, end):
        self.loop = loop
        self.lease_ms = setup["lease_ms"]
        self.idle_ms = setup.get("idle_ms") or 0
        self.max_life_ms = setup.get("max_life_ms") or 0
        self.is_idle = is_idle
        self.end = end
        self.begun = self.active = now()
        self.alone = self.begun  # since when nobody holds the session; None: somebody does
        self.met_client = False
        self.lease = None

    def start(self):
        if self.max_life_ms:
            self.loop.after(self.max_life_ms, lambda: self.end(LIFE_OVER, "its life is over"))
        if self.idle_ms:
            self.loop.after(self.idle_ms, self._look_idle)
        self._count()

    # ---- without a client

    def hold(self, held):
        """Whether somebody is here: a client, or a call that is meant to go on without one."""
        if held:
            self.met_client = True
            self.alone = None
        elif self.alone is None:
            self.alone = now()
        self._count()

    def renew(self, lease_ms):
        """A new length, which counts from now."""
        self.lease_ms = lease_ms
        if self.alone is not None:
            self.alone = now()
        self._count()

    def lease_left_ms(self):
        """None while somebody is here."""
        if self.alone is None:
            return None
        lease_ms = self.lease_ms if self.met_client else FIRST_CLIENT_MS
        return max(lease_ms - (now() - self.alone) // 1_000_000, 0)

    def _count(self):
        self.loop.cancel(self.lease)
        left = self.lease_left_ms()
        self.lease = None
        if left is not None:
            self.lease = self.loop.after(left, lambda: self.end(LEASE_OVER, "its lease is over"))

    # ---- without a call

    def touch(self):
        self.active = now()

    def idle_for_ms(self):
        return 0 if not self.is_idle() else (now() - self.active) // 1_000_000

    def _look_idle(self):
        left = self.idle_ms - self.idle_for_ms()
        if left > 0:
            self.loop.after(left, self._look_idle)
        else:
            self.end(IDLE_OVER, "nothing was asked of it for too long")

    # ---- at all

    def age_ms(self):
        return (now() - self.begun) // 1_000_000

    def life_left_ms(self):
        return max(self.max_life_ms - self.age_ms(), 0) if self.max_life_ms else None
