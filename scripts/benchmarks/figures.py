"""Many measurements in a few numbers."""

from collections.abc import Sequence


def percentiles_ms(seconds: Sequence[float]) -> dict[str, float]:
    ordered = sorted(value * 1000 for value in seconds)
    last = len(ordered) - 1
    at = {"p50": 0.50, "p99": 0.99, "max": 1.0}
    return {name: round(ordered[min(int(len(ordered) * part), last)], 4) for name, part in at.items()}
