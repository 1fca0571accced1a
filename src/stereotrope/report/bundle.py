"""The script that draws figures in the page, as vl-convert makes it: kept for the next start of a command."""

import contextlib
import hashlib
import os
import secrets
from functools import cache
from importlib.metadata import version
from pathlib import Path


@cache
def vega_bundle() -> str:
    """Vega, Vega-Lite and Vega-Embed in one script.

    Making it takes two seconds, so it is kept in ``stereotrope`` below ``XDG_CACHE_HOME`` (``~/.cache``),
    after its own hash. What is torn there is made anew, and where nothing can be written nothing is kept.
    """
    with contextlib.suppress(OSError, RuntimeError):
        digest, _, kept = _file().read_bytes().partition(b"\n")
        if hashlib.sha256(kept).hexdigest().encode() == digest:
            return kept.decode()
    import vl_convert  # noqa: PLC0415

    bundle = str(vl_convert.javascript_bundle())  # type: ignore[call-arg]
    with contextlib.suppress(OSError, RuntimeError):
        _keep(_file(), bundle.encode())
    return bundle


def _file() -> Path:
    given = os.environ.get("XDG_CACHE_HOME", "")
    folder = Path(given) if os.path.isabs(given) else Path.home() / ".cache"
    return folder / "stereotrope" / f"vega-{version('vl-convert-python')}.js"


def _keep(file: Path, bundle: bytes) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    temporary = file.with_name(f".{file.name}-{secrets.token_hex(6)}")
    try:
        temporary.write_bytes(hashlib.sha256(bundle).hexdigest().encode() + b"\n" + bundle)
        temporary.replace(file)
    finally:
        temporary.unlink(missing_ok=True)
