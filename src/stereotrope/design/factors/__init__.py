"""Further factors of prompts: what prompts have in common beyond what they were made from.

They stand in files that people may edit, and come to the prompts when these are made: neither a text nor an
id changes, so that pictures and labels stay what they are.
"""

from stereotrope.design.factors.clusters import Clusters
from stereotrope.design.factors.contract import FACTORS, FactorFile, factor, factor_file, prompts_of
from stereotrope.design.factors.reading import Joined, join_factors, kept_rows
from stereotrope.inputs.asking import MadeFile

__all__ = [
    "FACTORS",
    "Clusters",
    "FactorFile",
    "Joined",
    "MadeFile",
    "factor",
    "factor_file",
    "join_factors",
    "kept_rows",
    "prompts_of",
]
