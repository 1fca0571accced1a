"""Memory for decoding: how much of it pictures take at once, and what is said where there is none."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from stereotrope.errors import PictureUnavailable

PIXELS_AT_ONCE = 80_000_000
"""Pixels of all pictures that are decoded at one time; each takes up to eight bytes a pixel meanwhile."""
SHORT = "memory is short; close other programs or allow more"
_BYTES_A_PIXEL = 12
_BYTES_BESIDE = 64 * 2**20

_turn = threading.Lock()
_alone = threading.Lock()
_changed = threading.Condition()
_taken, _most = 0, PIXELS_AT_ONCE


def share_room(n: int) -> None:
    """Leave room for as many other processes as decode at the same time, this one among them."""
    global _most
    _most = PIXELS_AT_ONCE // n


@contextmanager
def room_for(pixels: int) -> Iterator[None]:
    """Wait until a picture of so many pixels fits beside those that are decoded now, in order of arrival.

    Raises PictureUnavailable: Memory is short all the same: that says nothing about the picture.
    """
    global _taken
    share = min(pixels, _most)
    with _turn, _changed:
        _changed.wait_for(lambda: _taken + share <= _most)
        _taken += share
    try:
        yield
    except MemoryError as error:
        raise PictureUnavailable(SHORT) from error
    finally:
        with _changed:
            _taken -= share
            _changed.notify_all()


@contextmanager
def decoding_alone(pixels: int) -> Iterator[None]:
    """Judge what decoding says of a picture: nobody else tries again meanwhile, and memory is to spare.

    Decoders that get no memory say that the data are broken, so one that failed is asked again in here.

    Raises PictureUnavailable: Memory is short before or after.
    """
    with _alone:
        if not is_spare(pixels):
            raise PictureUnavailable(SHORT)
        try:
            yield
        except BaseException:
            if not is_spare(pixels):
                raise PictureUnavailable(SHORT) from None
            raise


def is_spare(pixels: int) -> bool:
    """Whether there is memory to decode a picture of so many pixels, and more."""
    try:
        np.empty(pixels * _BYTES_A_PIXEL + _BYTES_BESIDE, dtype=np.uint8)
    except MemoryError:
        return False
    return True
