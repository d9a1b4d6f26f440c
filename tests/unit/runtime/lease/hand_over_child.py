"""A warehouse in a process of its own, without Spark: it stands by, and runs until it is ended.

All of the lease's times are two fifths of the real ones.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from freshline.core import lease
from freshline.core.errors import FreshlineError
from freshline.runtime.lease.leadership import Leadership
from tests.support.shop import Shop, made_project

SHARE = 2.5


def told(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main(root: Path) -> int:
    """Stand by, lead, and say so in lines on standard output."""
    lease.RENEW_S /= SHARE
    lease.LAPSE_S /= SHARE
    lease.MARGIN_S /= SHARE
    lease.LOOK_S /= SHARE
    project = made_project(root, {"orders": (), "sums": ("orders",)})
    shop = Shop(project)
    warehouse = shop.warehouse()
    leadership = Leadership(project, standby=True)
    signal.signal(signal.SIGTERM, lambda *_: warehouse.stop())
    try:
        leadership.take()
        told(f"leads {leadership.epoch}")
        warehouse.run(leadership)
    except FreshlineError as error:
        told(f"ended {error.code}")
        return error.exit_status
    told("ended")
    return 0


if __name__ == "__main__":
    # At once: an update that a track has not ended yet may be within delta-rs, which does not
    # survive the end of Python around it.
    os._exit(main(Path(sys.argv[1])))
