"""Statistics on plain arrays: numpy and scipy only. Undefined is NaN."""

from stereotrope.stats.agreement import accuracy, cohen_kappa
from stereotrope.stats.chao_shen import chao_shen_entropy
from stereotrope.stats.clusters import cluster_bootstrap_mean, clusters, effective_counts, score_test
from stereotrope.stats.correlation import mean_pairwise_spearman, pearson, spearman
from stereotrope.stats.intervals import fisher_z, goodman, newcombe, normal_quantile, wilson
from stereotrope.stats.multiplicity import benjamini_hochberg, fisher_exact, holm
from stereotrope.stats.ranking import mean_ranks, rank_agreement

__all__ = [
    "accuracy",
    "benjamini_hochberg",
    "chao_shen_entropy",
    "cluster_bootstrap_mean",
    "clusters",
    "cohen_kappa",
    "effective_counts",
    "fisher_exact",
    "fisher_z",
    "goodman",
    "holm",
    "mean_pairwise_spearman",
    "mean_ranks",
    "newcombe",
    "normal_quantile",
    "pearson",
    "rank_agreement",
    "score_test",
    "spearman",
    "wilson",
]
