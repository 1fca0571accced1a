"""Vectors of phrases from an endpoint: many a request, asked once, in the right order, told in a plan."""

from importlib.util import find_spec

import pytest
from tests.conftest import require
from typer.testing import CliRunner

import stereotrope as st
from stereotrope.cli import app
from stereotrope.errors import IncompleteError
from stereotrope.testing import Loopback, Response
from stereotrope.testing.embeddings import embed

PHRASES = [f"{verb} {thing}" for verb in ("bake", "repair", "wash") for thing in "abcdefghijklmnopqrstuvwxy"]
AUDIT = """\
prompts: {groups: {activities: {template: '{subject} who will {phrase}', phrases: [PHRASES]}}}
generators: [calibrated]
factors:
  - clusters: clusters.csv
    encoder: {model: 'openai:e', tries: 1, base_url: 'URL', price: {input: 1000}}
"""


@pytest.fixture
def served(tmp_path):
    packages = ("sklearn", "umap")
    require(all(map(find_spec, packages)), f"{', '.join(packages)} are not all installed")
    with Loopback(judge=lambda question: {"title": "Some activities"}) as server:
        text = AUDIT.replace("PHRASES", ", ".join(PHRASES)).replace("URL", server.url)
        (tmp_path / "audit.yaml").write_text(text)
        yield server, tmp_path / "audit.yaml"


def test_phrases_that_share_a_word_are_clustered_together_and_vectors_are_asked_for_once(served):
    server, file = served
    notes = st.Audit.from_yaml(file).design()
    rows = [row.split(",") for row in (file.parent / "clusters.csv").read_text().splitlines()[1:]]
    verbs = {}
    for _, scenario, *cluster in rows:
        verbs.setdefault(tuple(cluster[:-1]), set()).add(scenario.split()[4])
    assert all(len(each) == 1 for each in verbs.values()), verbs
    assert notes[-1].startswith("clusters.csv: openai:e, scikit-learn ")
    assert [len(each.body["input"]) for each in server.received] in ([64, 11], [11, 64])
    (file.parent / "clusters.csv").unlink()
    st.Audit.from_yaml(file).design()
    assert len(server.received) == 2


def test_a_plan_counts_texts_requests_and_titles_to_come(served):
    server, file = served
    file.write_text(
        file.read_text() + f"    titles: {{model: 'openai:t', base_url: '{server.url}', price: 0}}\n"
    )
    run = CliRunner().invoke(app, ["design", str(file), "--plan"])
    assert run.exit_code == 0, run.output
    lines = [line.split() for line in run.output.splitlines()]
    assert ["design", "e", "75", "0", "75", "2"] in lines
    assert ["design", "t", "25", "0", "25", "25"] in lines
    assert not server.received


@pytest.mark.parametrize(
    ("body", "match"),
    [
        ({"data": []}, "answered with 0 vectors of numbers where"),
        ({"data": [{"index": 0, "embedding": ["a"]}]}, "answered with 0 vectors of numbers"),
        ({"data": [{"index": 0, "embedding": [10**400]}]}, "answered with 0 vectors of numbers"),
        ({"error": {"message": "no such thing"}}, "no such thing"),
    ],
)
def test_a_reply_without_the_vectors_is_told_and_changes_no_file(served, body, match):
    server, file = served
    server.register("POST", "/v1/embeddings/", lambda request: Response(200, body), kind="embeddings")
    file.write_text(file.read_text().replace(server.url, f"{server.url}/embeddings/x"))
    with pytest.raises(IncompleteError, match=match):
        st.Audit.from_yaml(file).design()
    assert not (file.parent / "clusters.csv").exists()


@pytest.mark.parametrize("vector", [[0.0] * 64, [float("nan")] * 64, [1.0, 2.0]])
def test_a_vector_of_nothing_is_told_with_its_phrase_and_asked_for_again_alone(served, vector):
    server, file = served
    faulty = [True]

    def partly(request):
        listed = embed(request).body["data"]
        for one in listed:
            if faulty[0] and "bake a" in request.body["input"][one["index"]]:
                one["embedding"] = vector
        return Response(200, {"data": listed})

    server.register("POST", "/v1/embeddings/", partly, kind="embeddings")
    file.write_text(file.read_text().replace(server.url, f"{server.url}/embeddings/x"))
    with pytest.raises(
        IncompleteError, match=r"e: 1 of 75 missing: encoder 'e' gives 'bake a' no vector .*; take another"
    ):
        st.Audit.from_yaml(file).design()
    faulty[0], asked = False, len(server.received)
    st.Audit.from_yaml(file).design()
    assert [each.body["input"] for each in server.received[asked:]] == [["bake a"]]
