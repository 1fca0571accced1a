"""Statistics on plain arrays: numpy and scipy only. Undefined is NaN."""

from stereotrope.stats.agreement import (
    agreement_interval,
    cohen_kappa,
    fleiss_kappa,
    gwet_ac1,
    krippendorff_alpha,
    pearson,
    rater_agreement,
    spearman,
)
from stereotrope.stats.behrens_fisher import behrens_fisher_test, part_apart
from stereotrope.stats.bootstrap import js_interval, resampled_counts, resampled_js, unanimous_js
from stereotrope.stats.cluster_evenness import (
    cluster_unevenness_interval,
    shares_so_uneven,
    unevenness_slopes,
)
from stereotrope.stats.cluster_interval import (
    cluster_js_interval,
    cluster_scatter,
    crossed_growth,
)
from stereotrope.stats.cluster_js import Clustered
from stereotrope.stats.cluster_share import cluster_share_interval, sizes_alike
from stereotrope.stats.cluster_tail import MOST_WAYS, beta_binomial_test, beyond_exact, clusters_apart
from stereotrope.stats.clusters import (
    cluster_bootstrap_mean,
    cluster_flip_test,
    cluster_permutation_test,
    even_clusters,
    shared_correlation,
)
from stereotrope.stats.counts import pairwise_js
from stereotrope.stats.crossed import Across, Scatter, crossed_evidence, crossed_weights, evidence_apart
from stereotrope.stats.divergence import expected_js, greatest_js, js_divergence, least_js
from stereotrope.stats.entropies import (
    chao_shen_entropy,
    entropy,
    even_entropy,
    expected_sum,
    expected_tie,
    rarefied_entropy,
)
from stereotrope.stats.exceedance import above_interval, above_p, expected_above, posterior_log_odds
from stereotrope.stats.icc import (
    FEW_TOGETHER,
    ICC_GRID,
    Crossed,
    effective_counts,
    effective_trials,
    icc_beliefs,
    icc_by_group,
    icc_evidence,
    icc_priors,
    icc_weights,
    joint_evidence,
    widened_number,
)
from stereotrope.stats.intervals import (
    clopper_pearson,
    end_at_level,
    fisher_z,
    jackknife_interval,
    newcombe,
    newcombe_p,
    normal_quantile,
    wilson,
)
from stereotrope.stats.item_correlation import shuffled_pearson
from stereotrope.stats.linear import linear_interval
from stereotrope.stats.means import (
    mean_interval,
    mean_over_units,
    mean_p,
    share_deviation,
    shuffled_difference,
)
from stereotrope.stats.misclassification import corrected_shares, is_invertible, resampled_shares
from stereotrope.stats.multiplicity import (
    benjamini_hochberg,
    cauchy_combined,
    count_able,
    fewest_told,
    fisher_exact,
    fisher_least,
    holm,
    sign_test,
)
from stereotrope.stats.paired import (
    exchange_test,
    paired_ratio,
    paired_t,
    rank_biserial,
    relative_change,
    signed_rank,
    standardised_change,
)
from stereotrope.stats.permutation import permutation_p, shuffled_js
from stereotrope.stats.polygon import (
    any_order_weights,
    axis_orders,
    pairwise_interval,
    pairwise_score,
    radar_weights,
)
from stereotrope.stats.power import shift_power, smallest_shift
from stereotrope.stats.prediction_powered import PoweredShare, prediction_powered_share
from stereotrope.stats.random_part import stratified_shift_p
from stereotrope.stats.rank_correlation import spearman_interval, spearman_p
from stereotrope.stats.ranks import clustered_ranks, mean_ranks, rank_agreement
from stereotrope.stats.resampling import Resample, ScoreOfSums
from stereotrope.stats.shifts import greatest_shift
from stereotrope.stats.similarity import mean_cosine, unit_sums
from stereotrope.stats.spectrum import (
    GramSums,
    alignment_floor,
    alignment_interval,
    alignment_of_vectors,
    class_direction,
    kernel_alignment,
    weighted_alignment,
)
from stereotrope.stats.spending import look_alpha
from stereotrope.stats.strata import strata_test
from stereotrope.stats.tails import js_tail
from stereotrope.stats.unified import scatter_likeness, unified_interval
from stereotrope.stats.vendi import (
    MOST_PARTS,
    tfidf,
    vendi_influences,
    vendi_left_out,
    vendi_of_kernel,
    vendi_score,
    vendi_scores,
    vendi_standard_error,
    vendi_without,
)

__all__ = [
    "FEW_TOGETHER",
    "ICC_GRID",
    "MOST_PARTS",
    "MOST_WAYS",
    "Across",
    "Clustered",
    "Crossed",
    "GramSums",
    "PoweredShare",
    "Resample",
    "Scatter",
    "ScoreOfSums",
    "above_interval",
    "above_p",
    "agreement_interval",
    "alignment_floor",
    "alignment_interval",
    "alignment_of_vectors",
    "any_order_weights",
    "axis_orders",
    "behrens_fisher_test",
    "benjamini_hochberg",
    "beta_binomial_test",
    "beyond_exact",
    "cauchy_combined",
    "chao_shen_entropy",
    "class_direction",
    "clopper_pearson",
    "cluster_bootstrap_mean",
    "cluster_flip_test",
    "cluster_js_interval",
    "cluster_permutation_test",
    "cluster_scatter",
    "cluster_share_interval",
    "cluster_unevenness_interval",
    "clustered_ranks",
    "clusters_apart",
    "cohen_kappa",
    "corrected_shares",
    "count_able",
    "crossed_evidence",
    "crossed_growth",
    "crossed_weights",
    "effective_counts",
    "effective_trials",
    "end_at_level",
    "entropy",
    "even_clusters",
    "even_entropy",
    "evidence_apart",
    "exchange_test",
    "expected_above",
    "expected_js",
    "expected_sum",
    "expected_tie",
    "fewest_told",
    "fisher_exact",
    "fisher_least",
    "fisher_z",
    "fleiss_kappa",
    "greatest_js",
    "greatest_shift",
    "gwet_ac1",
    "holm",
    "icc_beliefs",
    "icc_by_group",
    "icc_evidence",
    "icc_priors",
    "icc_weights",
    "is_invertible",
    "jackknife_interval",
    "joint_evidence",
    "js_divergence",
    "js_interval",
    "js_tail",
    "kernel_alignment",
    "krippendorff_alpha",
    "least_js",
    "linear_interval",
    "look_alpha",
    "mean_cosine",
    "mean_interval",
    "mean_over_units",
    "mean_p",
    "mean_ranks",
    "newcombe",
    "newcombe_p",
    "normal_quantile",
    "paired_ratio",
    "paired_t",
    "pairwise_interval",
    "pairwise_js",
    "pairwise_score",
    "part_apart",
    "pearson",
    "permutation_p",
    "posterior_log_odds",
    "prediction_powered_share",
    "radar_weights",
    "rank_agreement",
    "rank_biserial",
    "rarefied_entropy",
    "rater_agreement",
    "relative_change",
    "resampled_counts",
    "resampled_js",
    "resampled_shares",
    "scatter_likeness",
    "share_deviation",
    "shared_correlation",
    "shares_so_uneven",
    "shift_power",
    "shuffled_difference",
    "shuffled_js",
    "shuffled_pearson",
    "sign_test",
    "signed_rank",
    "sizes_alike",
    "smallest_shift",
    "spearman",
    "spearman_interval",
    "spearman_p",
    "standardised_change",
    "strata_test",
    "stratified_shift_p",
    "tfidf",
    "unanimous_js",
    "unevenness_slopes",
    "unified_interval",
    "unit_sums",
    "vendi_influences",
    "vendi_left_out",
    "vendi_of_kernel",
    "vendi_score",
    "vendi_scores",
    "vendi_standard_error",
    "vendi_without",
    "weighted_alignment",
    "widened_number",
    "wilson",
]
