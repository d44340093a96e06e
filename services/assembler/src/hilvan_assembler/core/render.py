"""From items to text: XML-like sections whose structure stored text can't change.

Every item begins with ``<`` and ends with ``>`` and a line break. tiktoken's encodings cut their
text there, so tokens of items add up to the tokens of the whole.
"""

import re
from collections.abc import Callable
from datetime import datetime, tzinfo

from hilvan_assembler.model.candidate import Candidate
from hilvan_assembler.model.curation import IdentityBlock, PinnedNote
from hilvan_assembler.model.kind import Layer, Section
from hilvan_assembler.model.ranking import RankedCandidate

_ESCAPES = {
    "&": "&amp;",
    "<": "&lt;",
    ">": "&gt;",
    # What a model may read as a bracket: full width, small form, angle quotes, angle brackets.
    **{mark: f"&#{ord(mark)};" for mark in "＜＞﹤﹥‹›〈〉⟨⟩\u2329\u232a"},
    # Control characters have no place in a prompt; their pictures (U+2400…) stand for them.
    **{chr(code): chr(0x2400 + code) for code in range(32) if chr(code) not in "\t\n"},
    # Nor have the two code points that are no characters and that XML has no way to write.
    **dict.fromkeys("\ufffe\uffff", "\ufffd"),
}
_SPECIAL = re.compile(f"[{''.join(_ESCAPES)}]")
_QUOTE_OR_BREAK = re.compile('["\t\n\x85\u2028\u2029]')


def escaped(text: str) -> str:
    """Text as data: it can't close a tag or open one. `html.unescape` gives it back."""
    return _SPECIAL.sub(lambda found: _ESCAPES[found[0]], text)


def attribute(text: str) -> str:
    """Text as the value of an attribute, on one line."""
    return _QUOTE_OR_BREAK.sub(lambda found: "&quot;" if found[0] == '"' else " ", escaped(text))


def opening(section: Section, zone: tzinfo) -> str:
    """The line that opens a section; where days are given, their zone is."""
    if section in (Section.PREFERENCES, Section.FACTS, Section.EPISODES):
        return f'<{section} time_zone="{attribute(str(zone))}">\n'
    return f"<{section}>\n"


def closing(section: Section) -> str:
    """The line that closes it."""
    return f"</{section}>\n"


def item(subject: RankedCandidate | PinnedNote | IdentityBlock, zone: tzinfo) -> str:
    """What a prompt says of a candidate, a pinned note or an identity block."""
    if isinstance(subject, RankedCandidate):
        return candidate_item(subject.candidate, zone)
    return pinned_item(subject) if isinstance(subject, PinnedNote) else identity_item(subject)


def identity_item(block: IdentityBlock) -> str:
    """A block of who the assistant is."""
    group, kind = attribute(block.group), attribute(block.kind)
    return f'<block group="{group}" kind="{kind}">\n{escaped(block.text.strip())}\n</block>\n'


def pinned_item(note: PinnedNote) -> str:
    """A pinned note, whole."""
    return f'<note title="{attribute(note.title)}">\n{escaped(note.text.strip())}\n</note>\n'


def candidate_item(candidate: Candidate, zone: tzinfo) -> str:
    """An entry, as its layer is rendered."""
    return _RENDERERS[candidate.layer](candidate, zone)


def moment(time: datetime, zone: tzinfo) -> str:
    """A time to the minute with its offset, such as ``2025-03-01T08:00-05:00``."""
    return _local(time, zone).isoformat(timespec="minutes")


def _local(time: datetime, zone: tzinfo) -> datetime:
    """A time in a zone; as it is at the two ends of the calendar, where the zone leads past."""
    try:
        return time.astimezone(zone)
    except OverflowError:
        return time


def _memory(candidate: Candidate, zone: tzinfo) -> str:
    about = f' about="{attribute(candidate.category)}"' if candidate.category else ""
    day = _local(candidate.update_time, zone).date().isoformat()
    return f'<memory{about} date="{day}">{escaped(_titled(candidate))}</memory>\n'


def _episode(candidate: Candidate, zone: tzinfo) -> str:
    time = moment(candidate.create_time, zone)
    lines = [escaped(_titled(candidate))]
    if candidate.topics:
        lines.append(f"<topics>{escaped(', '.join(candidate.topics))}</topics>")
    if candidate.outcome:
        lines.append(f"<outcome>{escaped(candidate.outcome)}</outcome>")
    return f'<episode time="{time}">' + "\n".join(lines) + "</episode>\n"


def _procedure(candidate: Candidate, zone: tzinfo) -> str:
    del zone  # a procedure has no time of its own
    title = f' title="{attribute(candidate.title)}"' if candidate.title else ""
    steps = "".join(
        f'\n<step n="{number}">{escaped(step)}</step>'
        for number, step in enumerate(candidate.steps, start=1)
    )
    return f"<procedure{title}>{escaped(candidate.text)}{steps}</procedure>\n"


def _passage(candidate: Candidate, zone: tzinfo) -> str:
    del zone  # nor has a passage
    return f'<passage title="{attribute(candidate.title)}">{escaped(candidate.text)}</passage>\n'


def _titled(candidate: Candidate) -> str:
    return f"{candidate.title}: {candidate.text}" if candidate.title else candidate.text


_RENDERERS: dict[Layer, Callable[[Candidate, tzinfo], str]] = {
    Layer.MEMORY: _memory,
    Layer.EPISODE: _episode,
    Layer.PROCEDURE: _procedure,
    Layer.NOTE: _passage,
}
