"""Looking at the nodes of a cluster before anything is asked: what is missing on which."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stereotrope.errors import PictureUnavailable, RunError, UsageError
from stereotrope.plugins import version_of
from stereotrope.run.engine.cluster.hands import is_shared
from stereotrope.run.engine.needs import Needs
from stereotrope.run.place import PicturePlace

_LISTED = 8


@dataclass(frozen=True)
class NodeReport:
    """What was found on a node.

    versions: Package → its version there, None where it is not installed.
    unset: Variables that are not set; absent: files that are not there.
    is_shared: Whether it sees the run folder, or what has the pictures in its stead.
    refused: Why pictures cannot be written where they are to lie.
    """

    versions: dict[str, str | None] = field(default_factory=dict)
    unset: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    is_shared: bool = False
    refused: str | None = None


def look_around(folder: str, token: tuple[str, str], pictures: str | None, needs: Needs) -> NodeReport:
    """Say what of these needs is there, on the node where this runs."""
    return NodeReport(
        {name: version_of(name) for name in needs.packages},
        tuple(name for name in needs.variables if not os.environ.get(name, "").strip()),
        tuple(str(path) for path in needs.on_disk if not Path(path).exists()),
        pictures is not None or is_shared(folder, token),
        None if pictures is None else _refusal(pictures, token),
    )


def _refusal(pictures: str, token: tuple[str, str]) -> str | None:
    """Why pictures cannot be written at a URL from here; None where they can."""
    try:
        place = PicturePlace(pictures)
        place.check()
        if place.read(token[0]) == token[1].encode():
            return None
    except (UsageError, RunError, PictureUnavailable) as error:
        return str(error)
    return f"{place.url} is another place there than here; name one that all of them reach"


def require_nodes(
    ray: Any, folder: str, token: tuple[str, str], pictures: str | None, needs: Needs
) -> list[str]:
    """Refuse a cluster on whose nodes something is missing; say what there is to know of the others.

    Raises UsageError: Packages, variables, files or GPUs are missing; which, and on which nodes.
    """
    nodes = [one for one in ray.nodes() if one["Alive"] and one["Resources"].keys() & {"CPU", "GPU"}]
    reports = {_name_of(one): _report(ray, one["NodeID"], folder, token, pictures, needs) for one in nodes}
    found = {name: ray_get(ray, report) for name, report in reports.items()}
    lacking = [f"node {name}: {what}" for name, report in found.items() for what in _lacking(report, needs)]
    lacking += [] if nodes else ["the cluster has no node with a processor"]
    lacking += _devices_lacking(needs, ray.cluster_resources().get("GPU", 0))
    if lacking:
        more = f" and {len(lacking) - _LISTED} more" if len(lacking) > _LISTED else ""
        raise UsageError(
            f"engine ray: what this audit needs is missing, and nothing was asked: "
            f"{'; '.join(lacking[:_LISTED])}{more}. Mend these nodes (the same packages as here, keys by the "
            "environment or runtime_env, files under the same path), or leave --engine ray out"
        )
    apart = [
        name for name, report in found.items() if isinstance(report, NodeReport) and not report.is_shared
    ]
    told = "the run folder is not there: their pictures travel through this computer"
    return [f"ray: on {', '.join(apart)} {told}"] if apart else []


def ray_get(ray: Any, reference: Any) -> NodeReport | str:
    """Return the report of a node, or why there is none."""
    try:
        report: NodeReport = ray.get(reference)
        return report
    except ray.exceptions.RayError as error:
        return str(error.__cause__ or error).strip().splitlines()[-1]


def _report(ray: Any, node: str, *asked: Any) -> Any:
    there = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(node, soft=False)
    task = ray.remote(look_around).options(num_cpus=0, scheduling_strategy=there, max_retries=0)
    return task.remote(*asked)


def _devices_lacking(needs: Needs, n_gpus: float) -> Iterator[str]:
    for device in needs.devices:
        if device.startswith("cuda:"):
            yield f"device: {device} is one of one computer, and each worker gets a GPU; write `device: cuda`"
        elif device == "cuda" and not n_gpus:
            yield "the cluster has no GPU, and an entry of the audit file asks for `device: cuda`"


def _name_of(node: Any) -> str:
    return f"{node['NodeManagerHostname']} ({node['NodeID'][:8]})"


def _lacking(report: NodeReport | str, needs: Needs) -> Iterator[str]:
    if isinstance(report, str):
        yield f"cannot run this stereotrope ({report}); install stereotrope[ray] there, as it is here"
        return
    for name, here in needs.packages.items():
        there = report.versions[name]
        if there is None:
            yield f"the package {name} {here} is not installed"
        elif there != here:
            yield f"has {name} {there}, and here is {here}"
    yield from (f"the environment variable {name} is not set" for name in report.unset)
    yield from (f"{path} is not there" for path in report.absent)
    if report.refused is not None:
        yield report.refused
