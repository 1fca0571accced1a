"""The benchmark of models on a computer runs, with tiny ones."""

import re

TINY = ["--tiny", "--device", "cpu", "--steps", "1"]


def test_it_draws_reads_and_encodes_and_says_the_ratio_to_plain_drawing(pipelines, capsys):
    from bench import local_models

    tiny = [*TINY, "--encoded", "4", "--kind", "sd3", "--kind", "flux"]
    assert local_models.main(tiny) == 0
    told = capsys.readouterr().out
    for kind in ("sd3", "flux"):
        assert re.search(rf"{kind}: draw +[\d.]+ +[\d.]+ +1\.00\n", told)
        ratio, beside = re.search(rf"{kind}: SPI of 2 +[\d.]+ +[\d.]+ +([\d.]+) +([\d.]+)\n", told).groups()
        assert abs(float(ratio) / (3 if kind == "sd3" else 5) - float(beside)) < 0.02
    assert re.search(r"clip: encode +[\d.]+ +[\d.]+\n", told)


def test_a_limit_that_is_passed_fails_it(pipelines, capsys):
    from bench import local_models

    tiny = [*TINY, "--encoded", "1", "--kind", "sd1", "--most", "0.0001"]
    assert local_models.main(tiny) == 1
    assert "above 0.0001: sd1: SPI of 2" in capsys.readouterr().out
