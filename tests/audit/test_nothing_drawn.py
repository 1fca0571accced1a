"""What a run says where its generators give nothing, one picture, or refusals alone."""

import contextlib
import io

import pytest
from PIL import Image

import stereotrope as st
from stereotrope import generate
from stereotrope.cli import main
from stereotrope.errors import AuditFileError, IncompleteError, ModelError, ModelUnusable
from stereotrope.generate import Generator, ImageResult
from stereotrope.suites import SUITES
from stereotrope.suites.reading import audit_template
from stereotrope.testing import Loopback

JUDGED = """\
annotators:
  - blank
  - duplicates
  - colour
  - {{questions: openai:judge, base_url: "{url}", discover: true, price: 0}}
  - {{constraints: openai:checker, base_url: "{url}", price: 0}}
"""
CAPTIONED = """\
annotators:
  - {{caption: openai:captioner, base_url: "{url}", price: 0}}
  - {{lexicon: biasbench}}
"""
OWN = """\
prompts: {template: "A {occupation}, {condition}", occupation: [ceo, nurse], condition: [plain, odd]}
baseline: {condition: plain}
images_per_prompt: 2
generators: [calibrated]
measures:
  - {share: product_colour, by: [generator, occupation, condition]}
  - {bds: {group: condition, within: [generator, occupation]}}
"""


class Painter(Generator):
    """Draws as many pictures as it is told, then refuses or fails."""

    kind, name, fingerprint = "painter", "painter", "painter-1"

    def __init__(self, pictures, refuses):
        self.left, self.refuses = pictures, refuses

    def setup(self):
        pass

    def process(self, request):
        if self.left:
            self.left -= 1
            data = io.BytesIO()
            Image.effect_noise((64, 64), 80).convert("RGB").save(data, "PNG")
            return ImageResult(data.getvalue(), "ok")
        if self.refuses:
            return ImageResult(None, "refused", "moderation")
        raise ModelError("painter: no paint")


def template(name, url):
    """The audit file that `init` prints, with our generator and a judge on this computer."""
    head = audit_template(name).partition("\ngenerators:")[0]
    more = (CAPTIONED if name == "biasbench" else JUDGED).format(url=url)
    text = f"{head}\ngenerators: [calibrated]\n{more}"
    if name == "objects":
        text += 'phrasings: [for, targeted at]\nmitigations: {none: "", range of styles: in many styles}\n'
    smaller = {
        "prompt: 100": "prompt: 2",
        "prompt: 20": "prompt: 2",
        "prompt: 8": "prompt: 1",
        "# subjects: [a person, an individual, someone, a friend, a colleague]": "subjects: [a person]",
        "[car, cup]": "[cup]",
        "middle-aged, ": "",
    }
    for before, after in smaller.items():
        text = text.replace(before, after)
    return text


NEXT_TO_NOTHING = {"one": (1, True), "refusals": (0, True), "one-then-none": (1, False)}


@pytest.mark.parametrize(
    ("name", "pictures", "refuses"),
    [
        # Pictures that are refused or missing are told alike in every suite.
        pytest.param(
            name, *how, id=f"{name}-{way}", marks=[pytest.mark.slow] * (way != "one" and name != "own")
        )
        for way, how in NEXT_TO_NOTHING.items()
        for name in (*SUITES, "own")
    ],
)
def test_a_run_of_next_to_nothing_has_a_report_and_a_screen(
    tmp_path, monkeypatch, capsys, drawn, name, pictures, refuses
):
    monkeypatch.setattr(generate, "create", lambda *_, **__: Painter(pictures, refuses))
    with Loopback() as server:
        text = OWN if name == "own" else template(name, server.url)
        audit = st.Audit.from_text(f"{text}\npermutations: 99\nresamples: 100\nmax_excluded: 1\n")
        with contextlib.suppress(IncompleteError):
            audit.run(tmp_path / "run")
    assert (tmp_path / "run" / "report" / "index.html").is_file()
    with pytest.raises(SystemExit) as ended:
        main(["show", str(tmp_path / "run")])
    assert not ended.value.code
    told = capsys.readouterr().out
    assert "What is missing" in told
    assert not [line for line in told.splitlines() if len(line) > 80]


ENTRY = """\
suite: objects
objects: [cup]
dimensions: {{gender: [men, women]}}
images_per_prompt: 2
permutations: 99
resamples: 100
generators:
{entries}annotators: [blank, colour]
"""


def entry(url, more="", name="a"):
    return f"  - {{images: 'openai:{name}', base_url: '{url}', price: 0, tries: 1{more}}}\n"


TROUBLES = {
    "no key": (2, r"SURELY_NOT_SET", ", key: SURELY_NOT_SET", None),
    "unknown model": (2, r"no such model", "", {"kind": "unknown_model"}),
    "refused seed": (
        2,
        r"seed",
        ", seed: true",
        {"kind": "bad_request", "message": "Unknown parameter: 'seed'."},
    ),
    "refused request": (2, r"nothing fits", "", {"kind": "bad_request", "message": "nothing fits"}),
    "refused key": (3, r"key", "", {"kind": "unauthorized"}),
    "server error": (3, r"server error", "", {"kind": "server_error"}),
}


@pytest.mark.parametrize("trouble", [*TROUBLES, "dead port"])
def test_without_a_generator_that_answers_the_run_stops_with_the_reason(tmp_path, trouble):
    code, reason, more, wrong = TROUBLES.get(trouble, (3, "cannot be reached", "", None))
    with Loopback() as server:
        if wrong is not None:
            server.misbehave(**wrong, times=None, path="images")
        url = "http://127.0.0.1:9/v1" if trouble == "dead port" else server.url
        audit = st.Audit.from_text(ENTRY.format(entries=entry(url, more)))
        expected = AuditFileError if code == 2 else ModelUnusable
        found = rf"no generator gave a picture, so there is nothing to measure: generate: a: .*{reason}"
        with pytest.raises(expected, match=found) as error:
            audit.run(tmp_path / "run")
    assert error.value.exit_code == code
    assert "the same command" in str(error.value)
    assert str(error.value).startswith("audit.yaml:8: ") is (code == 2)
    assert not (tmp_path / "run" / "report").exists()
    assert not (tmp_path / "run" / "estimates.parquet").exists()


def test_a_request_that_is_rejected_very_often_is_the_audit_files_fault_as_one_is(tmp_path):
    with Loopback() as server:
        server.misbehave("bad_request", message="nothing fits", times=None, path="images")
        text = ENTRY.format(entries=entry(server.url)).replace(
            "images_per_prompt: 2", "images_per_prompt: 20"
        )
        with pytest.raises(AuditFileError, match=r"no generator gave a picture, .*nothing fits"):
            st.Audit.from_text(text).run(tmp_path / "run")


def test_one_generator_that_answers_is_enough_to_go_on(tmp_path):
    with Loopback() as server:
        entries = entry(server.url) + entry(server.url, ", key: SURELY_NOT_SET", name="b")
        with pytest.raises(IncompleteError, match=r"generate: b: 6 of 6 missing: .*SURELY_NOT_SET"):
            st.Audit.from_text(ENTRY.format(entries=entries)).run(tmp_path / "run")
    assert st.open(tmp_path / "run").images["generator"].unique().to_list() == ["a"]


def test_it_is_the_audit_files_fault_only_where_it_is_that_of_every_generator(tmp_path):
    entries = entry("http://127.0.0.1:9/v1") + entry("http://127.0.0.1:9/v1", ", key: NOT_SET", name="b")
    with pytest.raises(ModelUnusable, match=r"NOT_SET"):
        st.Audit.from_text(ENTRY.format(entries=entries)).run(tmp_path / "run")


@pytest.mark.parametrize(("more", "code"), [("", 3), (", key: SURELY_NOT_SET", 2)])
def test_the_command_ends_with_the_code_and_one_message_and_show_says_what_is_lacking(
    tmp_path, capsys, more, code
):
    (tmp_path / "audit.yaml").write_text(ENTRY.format(entries=entry("http://127.0.0.1:9/v1", more)))

    with pytest.raises(SystemExit, match=str(code)):
        main(["--quiet", "run", str(tmp_path / "audit.yaml"), "-o", str(tmp_path / "run")])
    ended = capsys.readouterr()
    assert "no generator gave a picture" in ended.err
    assert not ended.out
    with pytest.raises(SystemExit, match="3"):
        main(["show", str(tmp_path / "run")])
    assert "Traceback" not in ended.err + capsys.readouterr().err
