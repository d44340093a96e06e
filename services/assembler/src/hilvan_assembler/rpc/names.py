"""The model's words and the wire's numbers."""

from hilvan.assembler.v1 import assembler_service_pb2 as pb
from hilvan.common.v1 import entry_pb2, report_pb2
from hilvan.curation.v1 import curation_service_pb2 as curation_pb
from hilvan_assembler.model.kind import (
    ElementKind,
    ElementVerdict,
    FusionMethod,
    Layer,
    NoteChange,
    PartStatus,
    Reason,
    Section,
)

LAYERS = {
    entry_pb2.LAYER_MEMORY: Layer.MEMORY,
    entry_pb2.LAYER_EPISODE: Layer.EPISODE,
    entry_pb2.LAYER_PROCEDURE: Layer.PROCEDURE,
    entry_pb2.LAYER_NOTE: Layer.NOTE,
}
LAYER_NUMBERS = {layer: number for number, layer in LAYERS.items()}

SECTIONS = {
    pb.SECTION_IDENTITY: Section.IDENTITY,
    pb.SECTION_PINNED: Section.PINNED,
    pb.SECTION_PREFERENCES: Section.PREFERENCES,
    pb.SECTION_FACTS: Section.FACTS,
    pb.SECTION_NOTES: Section.NOTES,
    pb.SECTION_EPISODES: Section.EPISODES,
    pb.SECTION_WORKFLOWS: Section.WORKFLOWS,
}
SECTION_NUMBERS = {section: number for number, section in SECTIONS.items()}

FUSION_METHODS = {
    pb.FUSION_METHOD_UNSPECIFIED: FusionMethod.CONVEX,
    pb.FUSION_METHOD_CONVEX: FusionMethod.CONVEX,
    pb.FUSION_METHOD_RECIPROCAL_RANK: FusionMethod.RECIPROCAL_RANK,
}

REASONS = {
    Reason.RENDERED: pb.REASON_RENDERED,
    Reason.DUPLICATE_OF: pb.REASON_DUPLICATE_OF,
    Reason.CONTRADICTED_BY: pb.REASON_CONTRADICTED_BY,
    Reason.SUPERSEDED_BY: pb.REASON_SUPERSEDED_BY,
    Reason.BELOW_MIN_FINAL: pb.REASON_BELOW_MIN_FINAL,
    Reason.BELOW_MIN_SEMANTIC: pb.REASON_BELOW_MIN_SEMANTIC,
    Reason.OVER_BUDGET: pb.REASON_OVER_BUDGET,
    Reason.TOO_LARGE: pb.REASON_TOO_LARGE,
    Reason.MUTED: pb.REASON_MUTED,
    Reason.SECTION_OFF: pb.REASON_SECTION_OFF,
    Reason.AFTER_CUT: pb.REASON_AFTER_CUT,
    Reason.ALREADY_PINNED: pb.REASON_ALREADY_PINNED,
    Reason.INACTIVE: pb.REASON_INACTIVE,
    Reason.MISSING: pb.REASON_MISSING,
    Reason.MUTES_UNKNOWN: pb.REASON_MUTES_UNKNOWN,
}

STATUSES = {
    PartStatus.TIMEOUT: report_pb2.PART_STATUS_TIMEOUT,
    PartStatus.UNAVAILABLE: report_pb2.PART_STATUS_UNAVAILABLE,
}

AXES = {
    "user": entry_pb2.AXIS_USER,
    "project": entry_pb2.AXIS_PROJECT,
    "space": entry_pb2.AXIS_SPACE,
}

ELEMENT_KINDS = {
    ElementKind.PIN: curation_pb.ELEMENT_KIND_PIN,
    ElementKind.SET_ITEM: curation_pb.ELEMENT_KIND_SET_ITEM,
    ElementKind.MEMORY_CATEGORY: curation_pb.ELEMENT_KIND_MEMORY_CATEGORY,
}

ELEMENT_VERDICTS = {
    ElementVerdict.LOADED: curation_pb.VERDICT_LOADED,
    ElementVerdict.OVER_BUDGET: curation_pb.VERDICT_OVER_BUDGET,
    ElementVerdict.AFTER_CUT: curation_pb.VERDICT_AFTER_CUT,
    ElementVerdict.OVER_ITEM_LIMIT: curation_pb.VERDICT_OVER_ITEM_LIMIT,
    ElementVerdict.DUPLICATE: curation_pb.VERDICT_DUPLICATE,
    ElementVerdict.MUTED: curation_pb.VERDICT_MUTED,
    ElementVerdict.MISSING: curation_pb.VERDICT_MISSING,
}

NOTE_CHANGES = {
    NoteChange.ADDED: curation_pb.NOTE_CHANGE_ADDED,
    NoteChange.CHANGED: curation_pb.NOTE_CHANGE_CHANGED,
    NoteChange.REMOVED: curation_pb.NOTE_CHANGE_REMOVED,
}
