"""A Ray cluster of three nodes on this computer, one for all tests of a module."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import require

ROOT = Path(__file__).resolve().parents[3]
NODES = 3
KEY = "sentinel-4e1f0b-of-the-cluster"
STORE = 80 * 2**20
QUICK = {
    "health_check_initial_delay_ms": 0,
    "health_check_period_ms": 500,
    "health_check_failure_threshold": 3,
}
"""So that a node that is gone is noticed within seconds."""


def node(cluster: Any, **more: Any) -> None:
    """Add a node of one processor; on a busy computer one that did not come up within 30 s again."""
    for tries_left in (2, 1, 0):
        try:
            cluster.add_node(num_cpus=1, object_store_memory=STORE, include_dashboard=False, **more)
        except Exception:
            if not tries_left:
                raise
        else:
            return


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Three nodes of one processor each; this process is connected to the first."""
    require(find_spec("ray") is not None, "ray is not installed")
    patch = pytest.MonkeyPatch()
    patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    # Nodes that talk by 127.0.0.1 alone, and are waited for on a busy computer.
    patch.setenv("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
    patch.setenv("RAY_raylet_start_wait_time_s", "120")
    patch.setenv(
        "PYTHONPATH", f"{ROOT}{os.pathsep}{ROOT / 'src'}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    )
    patch.setenv("CLUSTER_KEY", KEY)
    import ray
    from ray.cluster_utils import Cluster

    made = Cluster(initialize_head=False)
    node(made, _system_config=QUICK)
    for gpus in range(NODES - 1):
        node(made, num_gpus=2 * gpus)  # the last has two, as Ray is told: nothing looks for them
    ray.init(made.address, log_to_driver=False, logging_level="ERROR")
    yield made
    ray.shutdown()
    made.shutdown()
    patch.undo()
