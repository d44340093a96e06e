"""The async layer between the wire and the adapters: one module a concept."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from hilvan_assembler.ports.tokenizer import Tokenizers
from hilvan_assembler.usecases.assembly import Assembler
from hilvan_assembler.usecases.recall import Recaller
from hilvan_assembler.usecases.report import TurnReports
from hilvan_assembler.usecases.search import Searcher
from hilvan_assembler.usecases.session import SessionStarter


@dataclass(frozen=True, slots=True)
class UseCases:
    """All that the service can do. ``clock`` dates requests that state no moment."""

    assembler: Assembler
    recaller: Recaller
    searcher: Searcher
    session_starter: SessionStarter
    reports: TurnReports
    tokenizers: Tokenizers
    clock: Callable[[], datetime]

    async def close(self) -> None:
        """Tell retrieval what was gathered."""
        await self.reports.close()
