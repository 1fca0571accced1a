"""Pictures in S3: a server of moto over real HTTP, by s3fs (`pip install s3fs moto[server]`)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.run.kill import tables
from tests.run.test_place import AUDIT

import stereotrope as st
from stereotrope.errors import RunDamaged, RunError
from stereotrope.run.place import PicturePlace

pytestmark = pytest.mark.slow


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """An empty bucket, with keys and address as the environment gives them."""
    s3fs = pytest.importorskip("s3fs")
    server = pytest.importorskip("moto.server").ThreadedMotoServer(port=0, verbose=False)
    boto3 = pytest.importorskip("boto3")
    server.start()
    _, port = server.get_host_and_port()
    for name, value in (
        ("AWS_ACCESS_KEY_ID", "testing"),
        ("AWS_SECRET_ACCESS_KEY", "testing"),
        ("AWS_DEFAULT_REGION", "us-east-1"),
        ("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}"),
    ):
        monkeypatch.setenv(name, value)
    s3fs.S3FileSystem.clear_instance_cache()  # one knows the address of the server before
    boto3.client("s3").create_bucket(Bucket="bucket")
    yield "s3://bucket/first"
    server.stop()


def test_a_run_with_pictures_in_s3_has_the_tables_of_any(tmp_path: Path, bucket: str) -> None:
    audit = st.Audit.from_text(AUDIT)
    plain, run = audit.run(tmp_path / "plain"), audit.run(tmp_path / "run", pictures=bucket)
    one, other = (
        {name: of for name, of in tables(folder.path).items() if not name.startswith("pictures/")}
        for folder in (plain, run)
    )
    assert one == other
    place = PicturePlace(bucket)
    names = place.names() - {"about/this.txt"}
    assert names == set(run.images["path"])
    lost = sorted(names)[0]
    place.remove(lost)
    again = audit.run(run.path)
    assert place.read(lost) == plain.path.joinpath(lost).read_bytes()
    assert tables(again.path)["labels.parquet"] == one["labels.parquet"]
    for name in names:
        place.remove(name)
    with pytest.raises(RunDamaged, match="the folder with 4 pictures of this run is missing"):
        audit.run(run.path)


def test_a_bucket_that_is_not_there_is_told_before_anything_is_drawn(tmp_path: Path, bucket: str) -> None:
    with pytest.raises(RunError, match=r"s3://absent/first/about/this.txt: cannot be written .*bucket"):
        st.Audit.from_text(AUDIT).run(tmp_path / "run", pictures=bucket.replace("bucket", "absent"))
    assert not list((tmp_path / "run").glob("*.parquet"))
