"""Strategies that append words of their own: no model is asked, and nothing depends on the pictures."""

from pydantic import Field

from stereotrope.inputs.entries import Context
from stereotrope.inputs.options import Name, Options, Text
from stereotrope.mitigate.contract import Case, Rewrite, Strategy, strategy
from stereotrope.shipped import shipped
from stereotrope.tables import fingerprint_of

_VERSION = 1
_ENDS = (".", "!", "?")


class Appending(Strategy):
    """Puts the same words behind every prompt.

    words: What is appended: behind a comma, or as a sentence of its own.
    """

    def __init__(self, name: str, words: str, *, sentence: bool = False) -> None:
        self.name, self.words, self.sentence = name, words, sentence

    @property
    def fingerprint(self) -> str:  # type: ignore[override]
        """Of the words and how they are appended."""
        return fingerprint_of("appending", _VERSION, {"words": self.words, "sentence": self.sentence})

    def process(self, case: Case) -> Rewrite:
        """Append the words.

        >>> Appending("variety", "in many styles").process(Case("a cup", "a cup")).text
        'a cup, in many styles'
        """
        if not self.sentence:
            return Rewrite(f"{case.query}, {self.words}")
        end = "" if case.query.rstrip().endswith(_ENDS) else "."
        return Rewrite(f"{case.query.rstrip()}{end} {self.words}")


class Redrawing(Strategy):
    """The same prompts, drawn with other seeds: what changes without any mitigation.

    follows: Level of a strategy: only what that one rewrote is drawn again. A strategy that chooses prompts
        by their pictures is to be compared with this one: what was chosen for being high falls by itself.
    """

    def __init__(self, name: str, follows: str | None = None) -> None:
        self.name, self.follows, self.may_keep = name, follows, follows is not None

    @property
    def fingerprint(self) -> str:  # type: ignore[override]
        """Of nothing but what it does."""
        return fingerprint_of("redrawing", _VERSION, {})

    def process(self, case: Case) -> Rewrite:
        """Leave the prompt as it is, and have it drawn anew."""
        return Rewrite(case.prompt, "redrawn")


class SuffixOptions(Options):
    """``suffix`` is what is put behind a comma at the end of every prompt, ``name`` the level it is called.

    Without words of your own it is a suffix of SODA (arXiv:2508.03483, section 5.5).
    """

    suffix: Text = Field(default_factory=lambda: str(shipped("mitigate", "wording.yaml")["suffix"]))
    name: Name = "suffix"


@strategy(
    SuffixOptions, summary="words behind every prompt that ask for variety", example="suffix:in many styles"
)
def suffix(options: SuffixOptions, context: Context) -> Strategy:
    """Make the strategy."""
    return Appending(options.name, options.suffix)


class EthicalOptions(Options):
    """The sentence is that of S. Barve et al. (2026, appendix); ``name`` is the level it is called."""

    ethical: None = None
    name: Name = "ethical"


@strategy(EthicalOptions, summary="a sentence that asks to avoid harmful stereotypes", example="ethical")
def ethical(options: EthicalOptions, context: Context) -> Strategy:
    """Make the strategy."""
    return Appending(options.name, str(shipped("mitigate", "wording.yaml")["ethical"]), sentence=True)


class RedrawOptions(Options):
    """``redraw`` is the level of a strategy whose rewritten prompts alone are drawn again, none for every
    prompt; ``name`` the level that it is called.
    """

    redraw: Name | None = None
    name: Name = "redraw"


@strategy(
    RedrawOptions,
    summary="the same prompts with other seeds, all or those that another strategy rewrites: a control",
    example="redraw:faircritic",
)
def redraw(options: RedrawOptions, context: Context) -> Strategy:
    """Make the strategy."""
    return Redrawing(options.name, options.redraw)
