"""Memory that is short is never a property of a picture, and pictures are decoded within bounds."""

import io
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageCms

from stereotrope import pictures
from stereotrope.errors import PictureError, PictureUnavailable
from stereotrope.pictures import room


@pytest.fixture(scope="module", params=["PNG", "JPEG", "WEBP"])
def data(request):
    noise = np.random.default_rng(0).integers(0, 256, (40, 60, 3)).astype(np.uint8)
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    out = io.BytesIO()
    Image.fromarray(noise).save(out, request.param, icc_profile=profile)
    return out.getvalue()


READERS = [pictures.inspect, pictures.decode, lambda data: pictures.plain(data, max_side=16)]


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("error", [MemoryError(), OSError("broken data stream when reading image file")])
def test_a_picture_that_gets_no_memory_is_unavailable_and_not_damaged(data, monkeypatch, read, error):
    def load(*_, **__):
        raise error

    monkeypatch.setattr(room, "is_spare", lambda pixels: False)
    monkeypatch.setattr(Image.Image, "load", load)
    monkeypatch.setattr("PIL.ImageFile.ImageFile.load", load)
    monkeypatch.setattr("PIL.WebPImagePlugin.WebPImageFile.load", load)
    with pytest.raises(PictureUnavailable, match="memory is short; close other programs or allow more"):
        read(data)


def test_a_profile_that_gets_no_memory_is_not_ignored(data, monkeypatch):
    def broken(*_, **__):
        raise ImageCms.PyCMSError("cannot build transform")

    monkeypatch.setattr(ImageCms, "ImageCmsTransform", broken)
    assert pictures.decode(data).shape == (40, 60, 3)
    monkeypatch.setattr(room, "is_spare", lambda pixels: False)
    with pytest.raises(PictureUnavailable, match="memory is short"):
        pictures.decode(data)


def test_what_fails_once_for_want_of_memory_is_read_the_second_time(data, monkeypatch):
    calls = []
    opened = Image.open

    def open_once(*arguments, **options):
        calls.append(1)
        if len(calls) == 1:
            raise OSError("decoder error -2 when reading image file")
        return opened(*arguments, **options)

    monkeypatch.setattr(Image, "open", open_once)
    assert pictures.decode(data).shape == (40, 60, 3)
    assert len(calls) == 2


def test_damage_stays_damage_where_memory_is_to_spare(data):
    with pytest.raises(PictureError, match=r"truncated|damaged"):
        pictures.inspect(data[: len(data) // 2])


def test_pictures_beyond_the_bound_wait_and_all_get_their_turn():
    order, large_waits = [], threading.Event()

    def large():
        large_waits.set()
        with room.room_for(10**9):
            order.append("large")

    def late():
        with room.room_for(1):
            order.append("late")

    with room.room_for(room.PIXELS_AT_ONCE):
        threads = [threading.Thread(target=large), threading.Thread(target=late)]
        threads[0].start()
        assert large_waits.wait(30)
        threads[1].start()
        order.append("first")
    for thread in threads:
        thread.join(30)
    assert order[0] == "first"
    assert sorted(order) == ["first", "large", "late"]


PEAK = Path(__file__).with_name("peak.py")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["grey", "rgb"])
def test_four_threads_that_read_64_megapixels_of_16_bits_stay_within_two_gigabytes(kind):
    told = subprocess.run([sys.executable, PEAK, kind], capture_output=True, text=True, check=True).stdout
    assert int(told) * (1 if sys.platform == "darwin" else 1024) < 2e9


def test_a_process_that_may_take_little_memory_says_so(data):
    code = (
        "import resource, sys\n"
        "from stereotrope import pictures\n"
        "from stereotrope.errors import PictureUnavailable\n"
        "data = sys.stdin.buffer.read()\n"
        "used = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()\n"
        "resource.setrlimit(resource.RLIMIT_AS, (used + 40_000_000, used + 40_000_000))\n"
        "try:\n    pictures.decode(data)\n"
        "except PictureUnavailable as error:\n    print(error)\n"
    )
    if not Path("/proc/self/statm").exists():
        pytest.skip("only Linux says how much it uses")
    out = io.BytesIO()
    Image.new("RGB", (7000, 7000)).save(out, Image.open(io.BytesIO(data)).format)
    ended = subprocess.run(
        [sys.executable, "-c", code], input=out.getvalue(), capture_output=True, check=True
    )
    assert ended.stdout.startswith(b"memory is short"), ended.stderr
