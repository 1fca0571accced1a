"""The demo audit: what ``stereotrope demo`` carries out."""

from importlib import resources

from stereotrope.audit import Audit


def demo_audit(seed: int | None = None) -> Audit:
    """Return the audit of the demo."""
    text = (resources.files("stereotrope.cli") / "demo.yaml").read_text("utf-8")
    return Audit.from_text(text, name="demo.yaml", seed=seed)
