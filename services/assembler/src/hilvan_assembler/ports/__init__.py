"""The ports of the assembler, all that it asks of the outside."""

from dataclasses import dataclass

from hilvan_assembler.ports.contradiction import ContradictionJudge
from hilvan_assembler.ports.curation import Curation
from hilvan_assembler.ports.retrieval import Retrieval
from hilvan_assembler.ports.tokenizer import Tokenizers


@dataclass(frozen=True, slots=True)
class Ports:
    """What the use cases are composed over."""

    retrieval: Retrieval
    curation: Curation
    judge: ContradictionJudge
    tokenizers: Tokenizers
