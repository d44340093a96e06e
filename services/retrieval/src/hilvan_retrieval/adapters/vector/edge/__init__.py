"""Qdrant's engine in a process of its own, served as the part of its gRPC API that Hilvan uses.

`EdgeProcess` starts it beside a service; ``python -m hilvan_retrieval.adapters.vector.edge`` is
the process. `QdrantIndex` talks to it exactly as to a cluster.
"""

from hilvan_retrieval.adapters.vector.edge.launcher import EdgeProcess

__all__ = ["EdgeProcess"]
