"""Generators and annotators of another package that raise or break their contract, in a small audit."""

import os
import subprocess
import sys

import polars as pl
import pytest

import stereotrope as st
from stereotrope import mitigate, report
from stereotrope.annotate import ANNOTATORS
from stereotrope.clients import Expectation
from stereotrope.errors import BudgetError, IncompleteError, PluginError, StereotropeError
from stereotrope.generate import GENERATORS
from stereotrope.mitigate import STRATEGIES
from stereotrope.plugins import OURS, Registry

NAMES = ("brush", "parts", "tone", "depth", "twins", "after")
GOOD = """
import asyncio
import hashlib
import io

import polars as pl
from PIL import Image

from stereotrope.annotate import Annotator, Label, annotator
from stereotrope.clients import Expectation
from stereotrope.generate import Generator, ImageRequest, ImageResult, generator, requests_frame
from stereotrope.inputs.options import Options


def picture(request):
    colours = hashlib.sha256(f"{request.text}{request.seed}".encode()).digest()
    drawn, file = Image.new("RGB", (24, 16), tuple(colours[:3])), io.BytesIO()
    drawn.paste(tuple(colours[3:6]), (12, 0, 24, 16))
    drawn.save(file, "PNG")
    return file.getvalue()


class Brush(Generator):
    kind = name = "brush"
    fingerprint = "brush:1"

    def process(self, request):
        return ImageResult(picture(request), "ok")


class Parts(Annotator):
    name = fingerprint = "parts"
    gives = ("regions",)
    several = ("part",)
    attributes = {"part": ("left", "right")}

    def process(self, picture):
        boxes = {"left": "[0, 0, 12, 16]", "right": "[12, 0, 24, 16]"}
        return [Label("part", name, region=box) for name, box in boxes.items()]


class Tone(Annotator):
    name = fingerprint = "tone"
    attributes = {"tone": ("dark", "light")}

    def process(self, picture):
        return [Label("tone", "dark" if picture.pixels().mean() < 128 else "light")]


class Depth(Tone):
    name = fingerprint = "depth"
    subject, needs = "region", ("regions",)
    attributes = {"depth": ("dark", "light")}

    def process(self, picture):
        return [Label("depth", "dark" if picture.pixels().mean() < 128 else "light")]


class Twins(Annotator):
    name = fingerprint = "twins"
    subject, size = "set", 2
    attributes = {"twins": ("yes", "no")}

    def process(self, pictures):
        return [Label("twins", "no")]


def slip(request):
    return ImageResult(None if request.seed % 4 == 2 else picture(request), "ok")


class After(Annotator):
    name = fingerprint = "after"
    needs = ("tone",)
    attributes = {"after": ("dark", "light")}
    process = None

    def derive(self, images, labels):
        return labels.filter(attribute="tone").with_columns(
            attribute=pl.lit("after"), annotator=pl.lit("after"), derived_from=pl.lit("tone")
        )


def boom(*given):
    raise KeyError("boom")


def leave(*given):
    raise SystemExit(0)


def press(*given):
    raise KeyboardInterrupt


async def cancel(*given):
    raise asyncio.CancelledError


class Dumb(BaseException):
    def __str__(self):
        raise ValueError("no words")


def odd(*given):
    raise Dumb


def talk(*given):
    raise ValueError("so\\n" * 900)


def listed(self, designed):
    pictures = [(*row, seed) for row in designed.select("prompt_id", "text").rows() for seed in range(4)]
    asked = [
        ImageRequest(f"{prompt_id} {seed}", prompt_id, "brush", text, None, seed)
        for prompt_id, text, seed in pictures
    ]
    return designed, requests_frame(asked)


process, derive, cut = Tone.process, After.derive, Parts.process
"""
ENTRIES = """

for made in (Brush, Parts, Tone, Depth, Twins, After):
    def make(options, context, made=made):
        one = made()
        one.account = context.account
        return one

    make.__name__ = entry = made.__name__.lower()
    chosen = type(f"{entry}Options", (Options,), {"__annotations__": {entry: None}, entry: None})
    (generator if made is Brush else annotator)(chosen, summary=entry, example=entry)(make)
"""
AUDIT = """\
prompts: [{thing: cup, text: a cup}]
images_per_prompt: 4
resamples: 100
generators: [brush]
annotators: [parts, tone, depth, twins, after]
measures: [{share: tone}, {share: after}]
"""
SHORT = "Tone.batch = 3\nTone.process_batch = lambda self, pictures: "
REVISED = "After.revise = lambda self, labels, listed, merge_colours: "
DERIVED = "After.derive = lambda self, images, labels: "
LISTED = "Brush.requests = lambda self, designed: "
ASKED = f"{LISTED}(designed, listed(self, designed)[1]"
FAULTS = {
    "brush": [
        ("Brush.process = boom", "KeyError: 'boom'"),
        ("Brush.process = leave", "SystemExit: 0"),
        ("Brush.process = press", "(KeyboardInterrupt)"),
        ("Brush.process = cancel", "(CancelledError)"),
        ("Brush.process = odd", "(Dumb)"),
        ("Brush.process = talk", "so so so …); mend the package"),
        (
            "Brush.process = lambda self, request: ImageResult(picture(request), 'ok', cost=0.02)",
            "a picture cost 0.02 US dollars, and no call to the provider '' and model '' of its generator is",
        ),
        ("Brush.check = boom", "KeyError: 'boom'"),
        ("Brush.requests = boom", "KeyError: 'boom'"),
        ("Brush.requests = lambda self, designed: 5", "requests must give"),
        (f"{LISTED}(designed, 5)", "requests must give a frame of prompts and one of requests, found"),
        (f"{LISTED}(designed.drop('text'), 5)", "requests must give a frame of prompts and one of requests"),
        (
            f"{LISTED}(designed.drop('text'), listed(self, designed)[1])",
            "column 'text' must hold String, found None",
        ),
        (
            f"{LISTED}(designed.with_columns(seed=pl.lit('1')), listed(self, designed)[1])",
            "factor 'seed': this name is reserved",
        ),
        (
            f"{LISTED}(pl.concat([designed] * 2), listed(self, designed)[1])",
            "two rows are of one scope: ",
        ),
        (f"{ASKED}.drop('seed'))", "column 'seed' must hold Int64, found None"),
        (f"{ASKED}.with_columns(size=1))", "column 'size' must hold nothing: drop it, found Int32"),
        (f"{ASKED}.with_columns(absent=pl.lit('no')))", "column 'absent' must hold Boolean, found String"),
        (f"{ASKED}.with_columns(image_id=pl.lit(None, pl.String)))", "column 'image_id' has a null"),
        (f"{ASKED}.with_columns(image_id=pl.lit('a')))", "two rows are of one scope: ('a',)"),
        (f"{ASKED}.with_columns(prompt_id=pl.lit('odd')))", "a request is of the prompt 'odd', which is not"),
        (f"{ASKED}.with_columns(params=pl.lit('5')))", "params must be a JSON object, found '5'"),
        ("Brush.name = None", "name must be of type str and not empty, found None"),
        ("Brush.kind = None", "kind must be of type str and not empty, found None"),
        ("Brush.concurrency = 0", "concurrency must be of type int and at least 1, found 0"),
        ("Brush.concurrency = -2", "concurrency must be of type int and at least 1, found -2"),
        ("Brush.process = lambda self, request: None", "process must give ImageResult, found None"),
        ("Brush.process = lambda self, request: ImageResult('text', 'ok')", "found 'ok' with 'text'"),
        ("Brush.process = lambda self, request: ImageResult(None, 'odd')", "status is one of ok, refused"),
        ("Brush.process = lambda self, request: slip(request)", "found 'ok' with None"),
        (
            "Brush.process = lambda self, request: ImageResult(None, 'refused', cost=float('nan'))",
            "cost must be of type double, found nan",
        ),
        (
            "Brush.process = lambda self, request: ImageResult(None, 'refused', cost=-0.5)",
            "latency and cost are at least 0, found None and -0.5",
        ),
    ],
    "parts": [
        ("Parts.needs = 'tone'", "must be tuples of texts, found 'tone'"),
        ("Parts.subject = 'planet'", "subject must be one of image, region, set, text"),
        ("Parts.attributes = ['part']", "attributes a mapping; found"),
        (
            "Parts.attributes = {'part': ('left', 'left')}",
            "values of one, must differ, and none be empty; found",
        ),
        (
            "Parts.attributes = {'part': ('left', ' ')}",
            "values of one, must differ, and none be empty; found",
        ),
        (
            "Parts.attributes = {'part': None, '': None}",
            "values of one, must differ, and none be empty; found",
        ),
        *(
            (
                f"Parts.process = lambda self, picture: [Label('part', 'left', region='{region}')]",
                f"region {region} is no box [x0, y0, x1, y1] in the 24 × 16 pixels of the picture",
            )
            for region in (
                *("odd", "5", "[0, 0, 9]", '[0, 0, "9", 9]', "[0, 0, 99, 9]", "[5, 5, 5, 9]"),
                "[0, 0, NaN, 9]",
            )
        ),
        (
            "Parts.several = ()",
            "one label an attribute and subject, of those in Annotator.several one a region",
        ),
        ("Parts.several = 'part'", "must be tuples of texts, found 'part'"),
    ],
    "tone": [
        ("Tone.process = boom", "KeyError: 'boom'"),
        ("Tone.process = leave", "SystemExit: 0"),
        ("Tone.process = press", "(KeyboardInterrupt)"),
        ("Tone.process = lambda self, picture: [Label('tone', '')]", "a value must not be empty"),
        ("async def looks(self, picture):\n    boom()\nTone.process = looks", "KeyError: 'boom'"),
        ("Tone.require = boom", "KeyError: 'boom'"),
        ("Tone.setup = boom", "KeyError: 'boom'"),
        ("Tone.attributes = property(boom)", "KeyError: 'boom'"),
        ("Tone.concurrency = property(boom)", "KeyError: 'boom'"),
        ("Tone.batch = -1", "batch must be of type int and at least 1, found -1"),
        ("Tone.key_of = lambda self, subject: 5", "key_of must give str, found 5"),
        ("Tone.process = lambda self, picture: None", "process must give Iterable, found None"),
        ("Tone.process = lambda self, picture: [Label('tone', 3)]", "value must be of type string, found 3"),
        ("Tone.process = lambda self, picture: [Label('odd', 'dark')]", "must give labels of tone, found"),
        (
            "Tone.process = lambda self, picture: process(self, picture) * 2",
            "one a region; found more of 'tone'",
        ),
        (
            "Tone.process = lambda self, picture: [Label('tone', 'dark', confidence=float('nan'))]",
            "confidence must be of type double, found nan",
        ),
        (f"{SHORT}[process(self, each) for each in pictures[1:]]", "one result for each of 3, found 2"),
        (f"{SHORT}None", "process_batch must give Sequence, found None"),
        (
            f"{SHORT}[label for each in pictures for label in process(self, each)]",
            "process must give collections.abc.Iterable",
        ),
    ],
    "twins": [
        ("Twins.sets = boom", "KeyError: 'boom'"),
        ("Twins.sets = lambda self, images: None", "sets must give Sequence, found None"),
        ("Twins.sets = lambda self, images: [('odd', 'ids')]", "a set is a tuple of ids of the images"),
        ("Twins.sets = lambda self, images: [()]", "a set is a tuple of ids of the images"),
    ],
    "after": [
        ("After.derive = boom", "KeyError: 'boom'"),
        (f"{DERIVED}None", "derive must give DataFrame, found None"),
        (
            f"{DERIVED}derive(self, images, labels).drop('status')",
            "column 'status' must hold String, found None",
        ),
        (
            f"{DERIVED}derive(self, images, labels).with_columns(value=3)",
            "column 'value' must hold String, found Int",
        ),
        *(
            (
                f"{DERIVED}derive(self, images, labels).with_columns({column}=pl.lit({value}))",
                "derive must give",
            )
            for column, value in (
                ("subject_id", "'odd'"),
                ("subject_id", "None, dtype=pl.String"),
                ("subject_kind", "'planet'"),
                ("annotator", "'tone'"),
            )
        ),
        (
            f"{DERIVED}derive(self, images, labels).with_columns(value=pl.lit('odd'))",
            "derive must give values of 'after' of its list, found 'odd'",
        ),
        (
            f"{DERIVED}derive(self, images, labels).with_columns(value=pl.lit(''))",
            "a value must not be empty",
        ),
        (
            f"{DERIVED}derive(self, images, labels).with_columns(status=pl.lit('odd'))",
            "status is ok or unclear",
        ),
        (f"{DERIVED}derive(self, images, labels).with_columns(region=pl.lit('odd'))", "region odd is no box"),
        (f"{DERIVED}pl.concat([derive(self, images, labels)] * 2)", "one a region; found more of 'after'"),
        ("After.revise = boom", "KeyError: 'boom'"),
        (f"{REVISED}None", "revise must give DataFrame, found None"),
        (f"{REVISED}labels.tail(-1)", "of its own labels, nothing else"),
        (f"{REVISED}labels.with_columns(value=pl.lit('x'))", "of its own labels, nothing else"),
        (f"{REVISED}labels.with_columns(rationale=pl.lit('so'))", "of its own labels, nothing else"),
    ],
}
EVERY = [(name, code, said) for name, those in FAULTS.items() for code, said in those]
CASES = [(*case, False) for number, case in enumerate(EVERY) if number % 4] + [
    pytest.param(*case, True, marks=[pytest.mark.slow] * (number % 4 > 0))
    for number, case in enumerate(EVERY)
]
"""Faults, and whether the run goes on with the package mended: every fourth, and in slow tests all."""


@pytest.fixture
def faulty(monkeypatch):
    """Registers the package, with some more code."""
    for registry in (GENERATORS, ANNOTATORS):
        monkeypatch.setattr(registry, "_plugins", {**registry, **registry._plugins})
        monkeypatch.setattr(registry, "_origins", dict(registry._origins))

    monkeypatch.setattr(report, "write", lambda *_, **__: None)

    def install(code=""):
        for registry in (GENERATORS, ANNOTATORS):
            for name in NAMES:
                registry._plugins.pop(name, None)
        monkeypatch.setattr(Registry, "_origin", "faulty")
        exec(GOOD + code + ENTRIES, {"__name__": "faulty"})
        monkeypatch.setattr(Registry, "_origin", OURS)
        return st.Audit.from_text(AUDIT)

    return install


def tables(folder):
    found = {path.name: pl.read_parquet(path) for path in sorted(folder.glob("*.parquet"))}
    return {name: table.drop("latency", strict=False) for name, table in found.items()}


UNDISTURBED = {}


@pytest.mark.parametrize(("name", "code", "said", "mended"), CASES)
def test_a_plug_in_that_breaks_its_contract_is_one_message_and_nothing_is_lost(
    tmp_path, faulty, name, code, said, mended
):
    if mended and not UNDISTURBED:
        faulty().run(tmp_path / "undisturbed")
        UNDISTURBED.update(tables(tmp_path / "undisturbed"))
    with pytest.raises(StereotropeError) as refused:
        faulty(code).run(tmp_path / "run")
    group = "generators" if name == "brush" else "annotators"
    assert str(refused.value).startswith(f"{group}: {name!r} of the package faulty fails (")
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)
    assert refused.value.exit_code == 2
    if not mended or not (tmp_path / "run").exists():
        return  # of the latter it was told before anything was done
    faulty().run(tmp_path / "run")
    found = tables(tmp_path / "run")
    assert found.keys() == UNDISTURBED.keys()
    assert all(found[table].equals(UNDISTURBED[table]) for table in found)


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("boom", "KeyError: 'boom'"),
        ("lambda self, asked: 5", "expect must give"),
        (
            "lambda self, asked: Expectation(1, None, None, (-0.5, 2.0), None)",
            "cost must be lowest and highest,",
        ),
        (
            "lambda self, asked: Expectation(1, None, None, (2.0, 0.5), None)",
            "cost must be lowest and highest,",
        ),
        (
            "lambda self, asked: Expectation(1, None, None, None, 'odd')",
            "seconds must be lowest and highest,",
        ),
        (
            "lambda self, asked: Expectation(-1, None, None, None, None)",
            "calls must be lowest and highest, 0 or",
        ),
        (
            "lambda self, asked: Expectation(None, None, None, None, None)",
            "calls must be lowest and highest,",
        ),
    ],
)
def test_what_is_expected_of_a_plug_in_is_blamed_where_it_is_asked_for(faulty, code, said):
    plan = faulty(f"Brush.expect = Parts.expect = {code}").plan()
    for one, group in (
        (plan.generators[0], "generators: 'brush'"),
        (plan.annotators[0], "annotators: 'parts'"),
    ):
        with pytest.raises(PluginError, match=f"{group} of the package faulty fails .*{said}"):
            one.expect(2)


def test_the_size_of_a_picture_is_read_from_it_whatever_a_plug_in_says(tmp_path, faulty):
    faulty("Brush.process = lambda self, request: ImageResult(picture(request), 'ok', size=(1, 'x'))").run(
        tmp_path / "run"
    )
    assert set(tables(tmp_path / "run")["images.parquet"].select("width", "height").rows()) == {(24, 16)}


def test_a_plug_in_that_somebody_serves_has_a_price_that_is_not_known_until_it_says_it(tmp_path, faulty):
    audit = faulty("Brush.provider, Brush.model = 'shop', 'brush'")
    (brush,) = audit.plan().generators
    assert brush.expect(audit.plan().requests) == Expectation(4, None, None, None, None)
    audit.run(tmp_path / "run")  # beside an annotator of a package
    assert st.open(tmp_path / "run").labels.height
    assert faulty().plan().generators[0].expect(audit.plan().requests) is None


BOOKED = """
from stereotrope.clients import Call


def buy(self, request):
    key = self.account.begin("shop", "brush", "image", expected=0.02)
    self.account.finish(key, Call("shop", "brush", "image", "ok", images=1, cost=0.02))
    return ImageResult(picture(request), "ok", cost=0.02)


Brush.provider, Brush.model, Brush.process = "shop", "brush", buy
"""


def test_what_a_plug_in_books_is_counted_and_capped(tmp_path, faulty):
    audit = faulty(BOOKED)
    with pytest.raises(BudgetError, match=r"generate: brush: 2 of 4 missing: the cap of 0.0500"):
        audit.run(tmp_path / "run", max_cost=0.05)
    spending = st.open(tmp_path / "run").spending
    assert spending.select("provider", "begun", "cost").rows() == [("shop", 2, 0.04)]
    audit.run(tmp_path / "run")
    assert st.open(tmp_path / "run").spending["cost"].to_list() == [0.08]


@pytest.mark.parametrize("cost", ["-1", "'odd'", "float('inf')"])
def test_what_calls_of_a_plug_in_cost_is_at_least_nothing(faulty, cost):
    tone = faulty(f"Tone.mean_cost = lambda self, account: {cost}").plan().annotators[1]
    with pytest.raises(PluginError, match=r"'tone' of the package faulty fails .*mean_cost"):
        tone.mean_cost(None)


def test_what_the_engine_tries_again_stays_tried_again(tmp_path, faulty):
    busy = "from stereotrope.errors import ModelError\ndef busy(*given):\n    raise ModelError('busy')\n"
    with pytest.raises(IncompleteError, match="annotate: tone: 4 of 4 missing: busy"):
        faulty(f"{busy}Tone.process = busy").run(tmp_path / "run")


def test_a_value_out_of_the_list_is_invalid_and_kept_as_what_was_answered(tmp_path, faulty):
    with pytest.raises(IncompleteError, match="4 of 4 labels say nothing"):
        faulty("Tone.process = lambda self, picture: [Label('tone', 'pink')]").run(tmp_path / "run")
    labels = tables(tmp_path / "run")["labels.parquet"].filter(annotator="tone")
    assert labels.select("value", "status", "rationale").unique().rows() == [
        (None, "invalid", 'answered "pink", which is not among the options')
    ]


def test_a_package_that_exits_is_one_message_of_the_command(tmp_path):
    info = tmp_path / "faulty-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: faulty\nVersion: 1.0\n")
    points = "".join(f"[stereotrope.{group}]\nours = faulty\n" for group in ("generators", "annotators"))
    (info / "entry_points.txt").write_text(points)
    (tmp_path / "audit.yaml").write_text(AUDIT.replace("[brush]", "[calibrated]"))
    (tmp_path / "faulty.py").write_text("raise SystemExit(0)\n")
    paths = [str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])]
    refused = subprocess.run(
        [sys.executable, "-m", "stereotrope", "run", "audit.yaml", "-o", "run"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert refused.returncode == 2
    (message,) = [line for line in refused.stderr.splitlines() if not line.endswith("done before")]
    assert message.startswith("error: generators: faulty cannot be loaded (SystemExit: 0); mend the package")


KEEP = """
from stereotrope.inputs.options import Options
from stereotrope.mitigate import Rewrite, Strategy, strategy


class Keep(Strategy):
    name = fingerprint = "keep"
    may_keep = True

    def process(self, case):
        return Rewrite("another prompt", "kept")


class KeepOptions(Options):
    keep: None = None


@strategy(KeepOptions, summary="keeps", example="keep")
def keep(options, context):
    return Keep()
"""


def test_a_strategy_that_keeps_another_prompt_is_blamed(monkeypatch):
    monkeypatch.setattr(STRATEGIES, "_plugins", {**STRATEGIES, **STRATEGIES._plugins})
    monkeypatch.setattr(STRATEGIES, "_origins", dict(STRATEGIES._origins))
    monkeypatch.setattr(Registry, "_origin", "faulty")
    exec(KEEP, {"__name__": "faulty"})
    monkeypatch.setattr(Registry, "_origin", OURS)
    one = mitigate.create("keep")
    with pytest.raises(
        PluginError, match=r"strategies: 'keep' of the package faulty fails .*what is kept is"
    ):
        one.process(mitigate.Case("a cup", "a cup"))
