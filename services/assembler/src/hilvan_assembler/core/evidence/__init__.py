"""Cheap, explainable evidence that two statements can't both hold now (English, Spanish).

>>> conflict = judge(read("Ana lives in Madrid"), read("Ana lives in Berlin"))
>>> conflict.kind, conflict.older_span, conflict.newer_span
(<EvidenceKind.CHANGED_VALUE: 'changed_value'>, 'Madrid', 'Berlin')
"""

from hilvan_assembler.core.evidence.announcing import announces_change
from hilvan_assembler.core.evidence.judging import judge
from hilvan_assembler.core.evidence.model import Statement
from hilvan_assembler.core.evidence.reading import read
from hilvan_assembler.model.contradiction import Contradiction
from hilvan_assembler.model.kind import EvidenceKind

__all__ = ["Contradiction", "EvidenceKind", "Statement", "announces_change", "judge", "read"]
