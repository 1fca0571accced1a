"""The engines by name: this computer, or a Ray cluster."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

from stereotrope.errors import UsageError, did_you_mean
from stereotrope.run.engine import Crew, Needs, ThisComputer
from stereotrope.run.engine.cluster import RayCluster
from stereotrope.run.folder import RunFolder

ENGINES = ("local", "ray")


@dataclass(frozen=True)
class Engine:
    """Who carries the stages of a run out.

    name: ``local`` or ``ray``.
    ray_address: Of the cluster, as ``ray.init`` takes it; else ``RAY_ADDRESS``, else a Ray on this computer.

    Raises UsageError: There is no such engine, or the address is of none that has one.
    """

    name: str = "local"
    ray_address: str | None = None

    def __post_init__(self) -> None:
        if self.name not in ENGINES:
            known = did_you_mean(self.name, ENGINES, otherwise=f"there are {' and '.join(ENGINES)}")
            raise UsageError(f"engine: there is no engine {self.name!r}; {known}")
        if self.ray_address is not None and self.name != "ray":
            raise UsageError("--ray-address is of the engine ray; add --engine ray, or leave it out")

    def crew(
        self, folder: RunFolder, needs: Needs, say: Callable[[str], None] = lambda _: None
    ) -> AbstractContextManager[Crew]:
        """Return who works on the stages of a run, to be entered while it is open.

        needs: What must be there wherever it is worked.
        say: Called with what there is to say of who works, a sentence each.
        Raises UsageError: Ray is not installed, no cluster answers at the address, or a node lacks something.
        """
        if self.name == "ray":
            return RayCluster(folder, needs, self.ray_address, say)
        return ThisComputer()


def engine_of(given: str | Engine) -> Engine:
    """Return an engine, where it was given by its name.

    Raises UsageError: There is no such engine.
    """
    return Engine(given) if isinstance(given, str) else given
