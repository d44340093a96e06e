"""One call, as the edge understood it."""

from dataclasses import dataclass

from hilvan_assembler.model.kind import View
from hilvan_assembler.model.options import Options
from hilvan_assembler.model.turn import Caller, Wanted
from hilvan_assembler.ports.tokenizer import Tokenizer
from hilvan_kit.deadlines import Deadline


@dataclass(frozen=True, slots=True)
class Turn:
    """A call for a prompt or a bundle.

    ``view`` FULL asks for each decision as well. A ``preview`` answers the same, and nothing of
    it is counted or reported.
    """

    caller: Caller
    wanted: Wanted
    options: Options
    tokenizer: Tokenizer
    deadline: Deadline
    view: View = View.BASIC
    preview: bool = False

    @property
    def is_explained(self) -> bool:
        """Whether the answer tells every decision."""
        return self.view is View.FULL
