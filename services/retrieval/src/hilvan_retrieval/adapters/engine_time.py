"""What engines say of their own time: the rest of a search is ours, and the way."""

from prometheus_client import Histogram

ENGINE_SECONDS = Histogram(
    "hilvan_engine_seconds",
    "What an engine says that a search took, without the way to it.",
    ["engine"],
    buckets=(0.001, 0.002, 0.005, 0.01, 0.02, 0.03, 0.06, 0.1, 0.25, 1.0),
)
