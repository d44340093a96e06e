"""Evidence recall on a LoCoMo file, through the product: import, index, Search over gRPC.

    make bench-quality DATA=path/to/locomo.json

Starts the three services in a folder of their own, imports the file, asks every question whose
evidence resolves, and prints recall @5/@10/@20 for words alone, vectors alone and both.
"""

import argparse
import asyncio
import statistics
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import orjson
from load.load_services import Running, running_services

from hilvan.assembler.v1 import assembler_service_pb2 as pb
from hilvan.common.v1 import entry_pb2
from hilvan.retrieval.v1 import retrieval_service_pb2 as retrieval_pb
from hilvan_client import Hilvan
from hilvan_client.importers import locomo

CUTS = (5, 10, 20)
MODES = {
    "keyword": pb.SEARCH_MODE_KEYWORD,
    "vector": pb.SEARCH_MODE_SEMANTIC,
    "hybrid": pb.SEARCH_MODE_HYBRID,
}
SETTLE_SECONDS = 1800.0


async def settled(hilvan: Hilvan) -> None:
    """Wait until both indexes have everything."""
    async with asyncio.timeout(SETTLE_SECONDS):
        while True:
            state = await hilvan.retrieval.GetIndexState(retrieval_pb.GetIndexStateRequest())
            if not sum(index.pending_count for index in state.indexes):
                return
            await asyncio.sleep(0.5)


async def ranked_ids(hilvan: Hilvan, question: locomo.Question, mode: int) -> list[str]:
    """The ids that a search gives, best first."""
    answer = await hilvan.assembler.Search(
        pb.SearchRequest(
            query=question.text,
            project_id=question.sample_id,
            layers=[entry_pb2.LAYER_EPISODE],
            limit=max(CUTS),
            mode=pb.SearchMode.ValueType(mode),
        )
    )
    return [hit.entry.id for hit in answer.hits]


def recall(found: Sequence[str], evidence: Sequence[str], cut: int) -> float:
    """The share of the evidence among the first ``cut``."""
    return len(set(found[:cut]) & set(evidence)) / len(evidence)


async def measure(services: Running, data: bytes) -> Mapping[str, Mapping[str, float]]:
    """Import, wait, ask. Percent by mode and cut."""
    document = orjson.loads(data)
    questions = list(locomo.read_questions(document))
    entries = [item for item in locomo.read(document) if isinstance(item, entry_pb2.Entry)]
    figures: dict[str, dict[str, float]] = {}
    async with services.connect(timeout=30) as hilvan:
        started = time.monotonic()
        await hilvan.import_entries(entries)
        await settled(hilvan)
        seconds = time.monotonic() - started
        print(f"{len(entries)} turns imported and indexed in {seconds:.0f} s")
        print(f"{len(questions)} questions\n\n{'':8} {'@5':>6} {'@10':>6} {'@20':>6}   ms p50")
        for name, mode in MODES.items():
            recalls: dict[int, list[float]] = {cut: [] for cut in CUTS}
            times: list[float] = []
            for question in questions:
                began = time.perf_counter()
                found = await ranked_ids(hilvan, question, mode)
                times.append(1000 * (time.perf_counter() - began))
                for cut in CUTS:
                    recalls[cut].append(recall(found, question.evidence, cut))
            row = {f"@{cut}": 100 * statistics.fmean(recalls[cut]) for cut in CUTS}
            figures[name] = row
            cells = " ".join(f"{value:6.1f}" for value in row.values())
            print(f"{name:8} {cells}   {statistics.median(times):6.1f}", flush=True)
    return figures


def main() -> None:
    """Print the table, and the same as one machine-readable line at the end."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    arguments = parser.parse_args()
    if not arguments.data.is_file():
        parser.exit(0, f"bench-quality: skipped, there is no file {arguments.data}\n")
    with tempfile.TemporaryDirectory() as home, running_services(Path(home)) as services:
        figures = asyncio.run(measure(services, arguments.data.read_bytes()))
    line = {"bench": "quality", "recall": figures}
    print(orjson.dumps(line, option=orjson.OPT_SORT_KEYS).decode())


if __name__ == "__main__":
    main()
