"""Results to test with."""

from benchmarks.result import Figure, Result


def result(benchmark: str, **metrics: Figure) -> Result:
    return Result(
        benchmark,
        {"platform": "Linux", "processor": "Abacus | 9", "cores": 2, "python": "3.11.7"},
        {"voxring": "0.1.0"},
        {"before": (0.1, 0.2, 0.3), "after": (1.5, 0.2, 0.3)},
        7,
        metrics,
        {"quick": True, "clips": ["a.wav", "b.wav"]},
    )
