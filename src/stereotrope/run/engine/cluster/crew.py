"""The hands of a Ray cluster: hired, followed, and replaced where one is lost."""

from __future__ import annotations

import asyncio
import itertools
import os
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any, Self

from stereotrope.errors import RunError, UsageError
from stereotrope.run.disk import TMP_PREFIX, sweep
from stereotrope.run.engine.cluster.desk import Desk, HeadAnswer
from stereotrope.run.engine.cluster.hands import Hand
from stereotrope.run.engine.cluster.head import Head
from stereotrope.run.engine.cluster.nodes import require_nodes
from stereotrope.run.engine.lanes import Telling
from stereotrope.run.engine.needs import Needs
from stereotrope.run.engine.stage import Items
from stereotrope.run.engine.work import OpenJob
from stereotrope.run.folder import RunFolder

_ASKED_AT_ONCE = 10_000
_JOBS_AT_ONCE = 64
_LOOK_SECONDS = 0.2
_LOCAL_STORE = 128 * 2**20
"""Bytes of the object store of a Ray that is started here: nothing large stays in it."""
_PATIENCE_SECONDS = 10.0
"""After which it is said that a cluster has no room for any worker, at first and whenever all are lost."""
_MOST_DEATHS = 3
"""Of each hand, on the mean, without that anything landed in between."""


@dataclass(frozen=True)
class _Hired:
    actor: Any
    resources: Mapping[str, float]
    begun: Any


class RayCluster:
    """A crew of a Ray cluster; a context manager.

    folder: The run, opened to be written.
    needs: What must be there on every node.
    address: Of the cluster, as ``ray.init`` takes it; else ``RAY_ADDRESS``, else a Ray on this computer. One
        that this process is connected to already is taken as it is.

    say: Called with what there is to say of it, a sentence each, from any thread.

    Raises UsageError: Ray is not installed, no cluster answers at the address, or a node lacks something.
    """

    def __init__(
        self,
        folder: RunFolder,
        needs: Needs,
        address: str | None = None,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._ray = ray_module()
        self._folder, self._needs, self._address = folder, needs, address
        self._where = str(folder.path.resolve())
        self._say, self._is_told, self._is_alone = say, False, False
        self._head = Head(folder)
        place = folder.store.place
        self._pictures = None if place is None else place.url
        self._numbers = itertools.count()
        self._guard = threading.RLock()
        self._hands: dict[str, Any] = {}
        self._successors: dict[str, str] = {}
        self._regulars: list[str] = []
        self._deaths, self._landed = 0, 0
        self._lost: RunError | None = None
        self._closing = False

    def __enter__(self) -> Self:
        self._own = not self._ray.is_initialized()
        if self._own:
            connect(self._ray, self._address)
            # In a Ray on this computer alone there is nothing but these workers, however slowly they start.
            self._is_alone = not (self._address or os.environ.get("RAY_ADDRESS"))
        self._token = f"{TMP_PREFIX}{secrets.token_hex(8)}", secrets.token_hex(16)
        (self._folder.path / self._token[0]).write_text(self._token[1])
        if (place := self._folder.store.place) is not None:
            place.write(self._token[0], self._token[1].encode())
        try:
            where = self._where, self._token, self._pictures
            for note in require_nodes(self._ray, *where, self._needs):
                self._say(note)
            self._open_desk()
        except BaseException:
            self._leave()
            raise
        self._serving = threading.Thread(target=self._serve, name="stereotrope-head", daemon=True)
        self._serving.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing = True
        for actor in (*(hand.actor for hand in self._hands.values()), self._desk):
            self._ray.kill(actor)
        self._serving.join()
        self._leave()

    def _leave(self) -> None:
        self._head.close()
        (self._folder.path / self._token[0]).unlink(missing_ok=True)
        if (place := self._folder.store.place) is not None:
            place.remove(self._token[0])
        if self._successors:  # hands that died may have left unfinished pictures
            sweep(self._folder.path)
        if self._own:
            self._ray.shutdown()

    def start(self, jobs: Sequence[OpenJob]) -> Sequence[threading.Thread]:
        """Begin jobs side by side; each has a thread that follows its hands."""
        threads = []
        for job in jobs:
            number = next(self._numbers)
            self._head.jobs[number] = job
            if job.n_batches:
                threads.append(threading.Thread(target=self._follow, args=(number, job), daemon=True))
        for thread in threads:
            thread.start()
        return threads

    def _follow(self, number: int, job: OpenJob) -> None:
        with Telling(job):
            packed = self._head.packed(replace(job.job, items=Items.of(()), progress=None))
            apart = self._with_devices(job)
            try:
                self._work_through(number, job, packed, apart)
            finally:
                for name in apart:
                    self._let_go(name)

    def _work_through(self, number: int, job: OpenJob, packed: bytes, apart: Sequence[str]) -> None:
        """Have hands work on a job until none is left of it, others where some die."""
        at_work: dict[Any, tuple[str, int]] = {}
        free = list(self._shared_out(number, job, apart))
        told, patience = False, time.monotonic() + _PATIENCE_SECONDS
        while free or at_work:
            for name, n in free:
                now, actor = self._now(name)
                at_work[actor.work.remote(number, packed, n)] = now, n
            free = []
            ended, _ = self._ray.wait(list(at_work), num_returns=1, timeout=_LOOK_SECONDS)
            if time.monotonic() > patience:
                patience = time.monotonic() + _PATIENCE_SECONDS
                self._tell_if_full([name for name, _ in at_work.values()])
            for ref in ended:
                name, n = at_work.pop(ref)
                if (other := self._successor(ref, name, number, job)) is not None:
                    free.append((other, n))
            if job.stop.is_set() and not told:
                told = True
                for name, _ in at_work.values():
                    self._now(name)[1].stop.remote()
            if job.is_spent and not any(self._head.has(number, name) for name, _ in at_work.values()):
                break
            if not free and not at_work and not job.is_spent:
                free = list(self._shared_out(number, job, apart))

    def _tell_if_full(self, names: Sequence[str]) -> None:
        """Say what holds a job up where none of its hands has begun and nothing is free: once, until one has.

        Others may hold it, or hands that start slowly: Ray does not tell which. A hand that is lost has its
        place taken by one that begins anew, so that a cluster whose last node goes is told as well.
        """
        with self._guard:
            hands = [self._hands[name] for name in names if name in self._hands]
            if self._is_alone or not hands:
                return
            if self._ray.wait([one.begun for one in hands], timeout=0)[0]:
                self._is_told = False
                return
            if self._is_told:
                return
            kind = "GPU" if "num_gpus" in hands[0].resources else "CPU"
            free, every = (
                found.get(kind, 0)
                for found in (self._ray.available_resources(), self._ray.cluster_resources())
            )
            if free >= 1:
                return
            self._is_told = True
        self._say(
            f"ray: no worker has begun within {_PATIENCE_SECONDS:g} s: each asks for 1 {kind}, and "
            f"{free:g} of {every:g} in the cluster are free. The run goes on as soon as one is; end what "
            "holds them (`ray status` says what), add a node, or stop and leave --engine ray out"
        )

    def _regulars_for(self, job: OpenJob, computes: bool) -> list[str]:
        """Hands of one processor: as many as there are where a job computes, else one a node."""
        nodes = [int(one["Resources"].get("CPU", 0)) for one in self._ray.nodes() if one["Alive"]]
        most = min(sum(nodes), job.n_batches) if computes else min(sum(n > 0 for n in nodes), job.n_lanes)
        with self._guard:
            while len(self._regulars) < max(1, most):
                self._regulars.append(self._hire(num_cpus=1))
            return self._regulars[: max(1, most)]

    def _with_devices(self, job: OpenJob) -> list[str]:
        """Hands of their own for a job that computes on GPUs, one a GPU; none for others."""
        n = int(self._ray.cluster_resources().get("GPU", 0))
        device = job.job.stage.device
        wanted = device.startswith("cuda") or (device == "auto" and n > 0)
        apart = min(n, job.n_batches) if wanted else 0
        return [self._hire(num_cpus=0, num_gpus=1) for _ in range(apart)]

    def _shared_out(self, number: int, job: OpenJob, apart: Sequence[str]) -> Iterator[tuple[str, int]]:
        """Hands for a job, each with how many lanes it has of it: one where it computes."""
        computes = job.job.stage.kind == "threads"
        names = [self._now(name)[0] for name in apart or self._regulars_for(job, computes)]
        lanes = min(len(names), job.n_batches) if computes else job.n_lanes
        for at in range(min(len(names), lanes)):
            yield names[(number + at) % len(names)], (lanes - at - 1) // len(names) + 1

    def _successor(self, ref: Any, name: str, number: int, job: OpenJob) -> str | None:
        """Hear how a hand ended its work; the name of another one where it died, or gave up."""
        try:
            self._ray.get(ref)
        except self._ray.exceptions.RayActorError as error:
            return self._replaced(name, str(error))
        if self._head.has(number, name) and not job.halted.is_set():
            # The desk was lost to it before it was ended for that.
            return self._replaced(name, "it ended with work in hand, as the head was out of its reach")
        return None

    def _now(self, name: str) -> tuple[str, Any]:
        """The hand that has the place of this one now, and its actor."""
        with self._guard:
            if self._lost is not None:
                raise self._lost
            while name in self._successors:
                name = self._successors[name]
            return name, self._hands[name].actor

    def _let_go(self, name: str) -> None:
        with self._guard:
            while name in self._successors:
                name = self._successors[name]
            if (hand := self._hands.pop(name, None)) is not None:
                self._ray.kill(hand.actor)

    def _replaced(self, name: str, why: str) -> str:
        with self._guard:
            if self._lost is not None:
                raise self._lost
            if name not in self._successors:
                lost = self._hands.pop(name)
                self._ray.kill(lost.actor)  # it may only be out of reach, and must begin nothing more
                self._head.forget(name)
                self._deaths = self._deaths + 1 if self._landed == self._head.landed else 1
                self._landed = self._head.landed
                if self._deaths > _MOST_DEATHS * (len(self._hands) + 1):
                    self._lost = RunError(
                        f"ray: {self._deaths} workers died in a row and nothing was finished in between; "
                        f"the last: {why}. Everything finished is kept; see the logs of that node, then run "
                        "the same command again"
                    )
                    raise self._lost
                self._successors[name] = self._hire(**lost.resources)
            return self._successors[name]

    def _hire(self, **resources: float) -> str:
        name = secrets.token_hex(4)
        made = self._ray.remote(Hand).options(
            max_concurrency=_JOBS_AT_ONCE, scheduling_strategy="SPREAD", **resources
        )
        actor = made.remote(self._desk, name, self._where, self._token, self._pictures)
        self._hands[name] = _Hired(actor, resources, actor.__ray_ready__.remote())
        return name

    def _open_desk(self) -> None:
        strategies = self._ray.util.scheduling_strategies
        home = self._ray.get_runtime_context().get_node_id()
        here = strategies.NodeAffinitySchedulingStrategy(home, soft=False)
        made = self._ray.remote(Desk)
        self._desk = made.options(
            num_cpus=0, max_concurrency=_ASKED_AT_ONCE, scheduling_strategy=here
        ).remote()

    def _serve(self) -> None:
        """Answer what is asked until the end; where the desk is lost, with another one and other hands."""
        asyncio.set_event_loop(self._head.loop)
        self._head.loop.run_until_complete(self._answer_all())

    async def _answer_all(self) -> None:
        while not self._closing:
            answers: list[tuple[int, HeadAnswer]] = []
            desk = self._desk  # of another desk the same numbers are other questions
            try:
                while True:
                    for question in await desk.take.remote():
                        self._head.begin(self._answer(desk, answers, *question))
            except self._ray.exceptions.RayError:
                if not self._closing:
                    self._reopen_desk()

    async def _answer(
        self, desk: Any, answers: list[tuple[int, HeadAnswer]], number: int, *question: Any
    ) -> None:
        answers.append((number, await self._head.answer(*question)))
        await asyncio.sleep(0)  # those that are ready too go along
        if answers:
            desk.answer.remote([answers.pop() for _ in range(len(answers))])

    def _reopen_desk(self) -> None:
        with self._guard:
            for hand in self._hands.values():
                self._ray.kill(hand.actor)
            self._open_desk()


def ray_module() -> ModuleType:
    """Return Ray, which reports to nobody.

    Raises UsageError: It is not installed.
    """
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    try:
        import ray  # noqa: PLC0415
        import ray.util.scheduling_strategies  # noqa: PLC0415
    except ImportError as error:
        raise UsageError(
            "engine ray: the package ray is not installed here; install it with `pip install "
            "'stereotrope[ray]'`, on every node of the cluster too"
        ) from error
    found: ModuleType = ray
    return found


def connect(ray: ModuleType, address: str | None) -> None:
    """Connect to a cluster, or start a Ray on this computer.

    Raises UsageError: No cluster answers at the address.
    """
    where = address or os.environ.get("RAY_ADDRESS")
    quiet: dict[str, Any] = {"logging_level": "ERROR", "log_to_driver": False}
    if not where:
        ray.init("local", include_dashboard=False, object_store_memory=_LOCAL_STORE, **quiet)
        return
    try:
        ray.init(where, **quiet)
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise UsageError(
            f"engine ray: no cluster can be reached at {where!r} ({error}); see that it runs (`ray status`), "
            "name its address by --ray-address or RAY_ADDRESS, or leave both out for a Ray on this computer"
        ) from error
