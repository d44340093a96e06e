"""What of the store a prompt is made of."""

from hilvan_assembler.model.kind import Layer, Tier
from hilvan_assembler.model.options import Options
from hilvan_assembler.model.turn import Caller


def layers(options: Options) -> tuple[Layer, ...]:
    """Layers that may be rendered; notes only where the request gives them a budget."""
    return tuple(
        layer for layer in Layer if layer is not Layer.NOTE or options.budgets[Tier.NOTES] > 0
    )


def owners(caller: Caller, project_id: str) -> tuple[str, ...]:
    """Whose entries a prompt may hold: the caller's own, and the project's."""
    own = f"user:{caller.user}"
    return (own, f"project:{project_id}") if project_id else (own,)
