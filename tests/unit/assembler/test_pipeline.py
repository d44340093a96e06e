"""The pipeline: from candidates and curation to a prompt, its items, reasons and notices."""

from collections.abc import Sequence
from typing import Any

import pytest
from support.assembler.values import (
    AS_OF,
    WORDS,
    agrees,
    by_id,
    disputes,
    entry,
    options,
    retrieved,
)

from hilvan_assembler.core.pipeline import assemble
from hilvan_assembler.model.assembly import Assembly
from hilvan_assembler.model.candidate import Candidate
from hilvan_assembler.model.curation import Curated, IdentityBlock, PinnedNote
from hilvan_assembler.model.entry import Origin
from hilvan_assembler.model.kind import Layer, Reason, Section, Tier
from hilvan_assembler.model.options import DEFAULT_BUDGETS, Options
from hilvan_assembler.ports.contradiction import ContradictionJudge
from hilvan_assembler.ports.tokenizer import Tokenizer

PIN = PinnedNote("pin", "Plan", "the plan")
BLOCK = IdentityBlock("block", "soul", "identity", "be kind")
CURATED = Curated(pins=(PIN,), identity=(BLOCK,))
ROWS = (
    entry("fact", "a fact"),
    entry("pref", "short answers", category="Preference", importance=0.8),
    entry("happened", "we met", layer=Layer.EPISODE),
    entry("how", "to deploy", layer=Layer.PROCEDURE),
    entry("passage", "of a note", layer=Layer.NOTE, origin=Origin(uri="note-1")),
)


def run(
    rows: Sequence[Candidate] = ROWS,
    curated: Curated = CURATED,
    wanted: Options | None = None,
    judge: ContradictionJudge = agrees,
    tokenizer: Tokenizer = WORDS,
    **answer: Any,
) -> Assembly:
    """An explained assembly."""
    found = retrieved(*rows, **answer)
    return assemble(found, curated, wanted or options(), tokenizer, judge, explain=True)


def reasons(assembly: Assembly) -> dict[str, Reason]:
    """Why each is in or out."""
    return {each.id: each.reason for each in assembly.decisions}


def test_sections_stand_in_their_order() -> None:
    """Identity, pinned, preferences, facts, notes, episodes, workflows."""
    assembly = run()
    assert [each.section for each in assembly.sections] == list(Section)
    assert [each.id for each in assembly.items] == [
        "block",
        "pin",
        "pref",
        "fact",
        "passage",
        "happened",
        "how",
    ]
    assert assembly.prompt == "".join(each.text for each in assembly.sections)
    assert [assembly.prompt.index(f"<{each}") for each in Section] == sorted(
        assembly.prompt.index(f"<{each}") for each in Section
    )


@pytest.mark.parametrize("section", Section)
def test_a_section_that_is_off_is_empty_and_says_so(section: Section) -> None:
    """Its items are out with section_off, all others stay."""
    whole = run()
    assembly = run(wanted=options(sections=frozenset(Section) - {section}))
    gone = {each.id for each in whole.items if each.section is section}
    assert {key for key, why in reasons(assembly).items() if why is Reason.SECTION_OFF} == gone
    assert [each for each in whole.items if each.section is not section] == list(assembly.items)
    assert f"<{section}" not in assembly.prompt


@pytest.mark.parametrize("tier", Tier)
def test_a_budget_of_0_is_an_empty_section_with_reasons(tier: Tier) -> None:
    """Everything of the tier is too large for it, everything else stays."""
    assembly = run(wanted=options({tier: 0}))
    empty = {each.section for each in assembly.sections if each.token_budget == 0}
    told = {each.reason for each in assembly.decisions if each.section in empty}
    kept = {each.reason for each in assembly.decisions if each.section not in empty}
    assert (told, kept) == ({Reason.TOO_LARGE}, {Reason.RENDERED})
    assert all(each.token_count == 0 for each in assembly.sections if each.section in empty)


def test_notes_have_no_budget_unless_the_request_gives_one() -> None:
    """The default for passages is 0."""
    assembly = run(wanted=Options(as_of=AS_OF))
    assert DEFAULT_BUDGETS[Tier.NOTES] == 0
    assert reasons(assembly)["passage"] is Reason.TOO_LARGE


@pytest.mark.parametrize(
    ("muted", "curated"),
    [
        ({"muted": True}, Curated()),
        ({}, Curated(muted=frozenset({("user:ana", "smalltalk")}))),
    ],
)
def test_muted_memory_never_arrives_unasked(muted: dict[str, Any], curated: Curated) -> None:
    """By its own flag or by its category's mute, whoever tells it."""
    rows = [entry("loud", category="smalltalk", **muted), entry("other", category="stack")]
    assembly = run(rows, curated)
    assert reasons(assembly) == {"loud": Reason.MUTED, "other": Reason.RENDERED}


def test_a_mute_is_of_one_owners_category() -> None:
    """Another owner's memory of the same category stays."""
    rows = [entry("mine", category="c"), entry("ours", category="c", owner="project:p")]
    told = reasons(run(rows, Curated(muted=frozenset({("user:ana", "c")}))))
    assert told == {"mine": Reason.MUTED, "ours": Reason.RENDERED}


def test_a_passage_of_a_pinned_note_is_there_already() -> None:
    """It is not rendered twice; where the pin is not loaded it may come."""
    row = entry("passage", layer=Layer.NOTE, origin=Origin(uri="pin"))
    memory = entry("memory", origin=Origin(uri="pin"))
    assembly = run([row, memory])
    assert reasons(assembly)["passage"] is Reason.ALREADY_PINNED
    assert by_id(assembly.decisions)["passage"].other_id == "pin"
    assert reasons(assembly)["memory"] is Reason.RENDERED
    unloaded = Curated(pins=(PinnedNote("pin", "Plan", "", loaded=False, reason=Reason.MISSING),))
    told = reasons(run([row], unloaded))
    assert told == {"pin": Reason.MISSING, "passage": Reason.RENDERED}


@pytest.mark.parametrize(
    ("fields", "section"),
    [
        ({"category": "preferencia", "importance": 0.8}, Section.PREFERENCES),
        ({"category": "preference", "importance": 0.79}, Section.FACTS),
        ({"category": "preference"}, Section.FACTS),
        ({"category": "stack", "importance": 0.9}, Section.FACTS),
        ({"category": "preference", "importance": 1.0, "owner": "project:p"}, Section.FACTS),
        ({"category": "preference", "importance": 1.0, "layer": Layer.EPISODE}, Section.EPISODES),
    ],
)
def test_preferences_are_a_users_own_important_ones(
    fields: dict[str, Any], section: Section
) -> None:
    """Importance from 0.8, of a preference category, of a user, and a memory."""
    assert run([entry("m", **fields)], Curated()).items[0].section is section


def test_preferences_and_facts_share_one_budget() -> None:
    """What preferences take is not there for facts."""
    room = sum(each.token_count for each in run().sections[2:4])
    assembly = run(wanted=options({Tier.MEMORIES: room - 1}), curated=Curated())
    pref, fact = assembly.sections[2:4]
    assert (pref.item_count, fact.item_count) == (1, 0)
    assert reasons(assembly)["fact"] is Reason.OVER_BUDGET


def test_floors_are_compared_each_with_its_own_scale() -> None:
    """min_final with the final score, min_semantic with similarity where there is one."""
    rows = [entry("near", similarity=0.9), entry("far", similarity=0.5), entry("word", bm25=9.0)]
    told = run(rows, Curated(), options(min_semantic=0.6))
    assert reasons(told)["far"] is Reason.BELOW_MIN_SEMANTIC
    assert by_id(told.decisions)["far"].detail == "0.500 is below 0.6"
    assert {"near", "word"} == {each.id for each in told.items}
    final = run(rows, Curated(), options(min_final=0.999))
    assert set(reasons(final).values()) == {Reason.BELOW_MIN_FINAL}
    assert by_id(final.decisions)["near"].detail.endswith("is below 0.999")
    assert final.no_relevant_memory


def test_nothing_is_relevant_when_only_outdated_entries_are_left() -> None:
    """What a newer entry below the floor contradicts does not count as relevant."""
    rows = [
        entry("old", "nine", days=9, similarity=0.9),
        entry("new", "ten", days=1, similarity=0.31),
    ]
    found = retrieved(*rows, pairs={("old", "new"): 0.8})
    judge = disputes(("nine", "ten"))
    for explain in (False, True):
        wanted = options(min_final=0.5)
        assembly = assemble(found, Curated(), wanted, WORDS, judge, explain=explain)
        assert assembly.no_relevant_memory
        assert assembly.items == ()


def test_an_outdated_entry_without_room_is_told_as_outdated() -> None:
    """Explained, everything is judged: the reason is the newer one, and there is no rank after."""
    rows = [entry("old", "nine", days=9), entry("new", "ten", days=1)]
    assembly = run(
        rows,
        Curated(),
        options({Tier.MEMORIES: 0}),
        disputes(("nine", "ten")),
        pairs={("old", "new"): 0.8},
    )
    told = by_id(assembly.decisions)
    assert (told["old"].reason, told["old"].other_id) == (Reason.CONTRADICTED_BY, "new")
    assert (told["old"].rank_after, told["new"].rank_after) == (None, 1)


def test_merged_entries_stand_behind_their_item() -> None:
    """The item lists the ids of those that say the same, in order."""
    rows = [entry("a", "Tea", similarity=0.9), entry("c", "tea."), entry("b", "TEA")]
    assembly = run(rows, Curated())
    assert [(each.id, each.merged) for each in assembly.items] == [("a", ("b", "c"))]
    assert by_id(assembly.decisions)["b"].other_id == "a"


def test_pins_and_identity_over_budget_are_told_in_a_notice() -> None:
    """What people pinned or wrote and did not get is for them to mend."""
    curated = Curated(
        pins=tuple(PinnedNote(f"p{n}", f"Title {n}", "word " * 20) for n in range(3)),
        identity=(BLOCK, IdentityBlock("off", "soul", "old", "x", active=False)),
    )
    assembly = run((), curated, options({Tier.PINNED: 60, Tier.IDENTITY: 5}))
    assert [(each.code, each.id) for each in assembly.notices] == [
        ("pin_over_budget", "p1"),
        ("pin_over_budget", "p2"),
        ("identity_over_budget", "block"),
    ]
    assert reasons(assembly) == {
        "block": Reason.TOO_LARGE,
        "off": Reason.INACTIVE,
        "p0": Reason.RENDERED,
        "p1": Reason.OVER_BUDGET,
        "p2": Reason.AFTER_CUT,
    }
    assert assembly.notices[0].description == "the pinned note 'Title 1' is left out: over_budget"


def test_ranks_are_within_the_layer_before_and_after() -> None:
    """Rank by relevance and by score; what was pruned before scoring has none after."""
    rows = [
        entry("a", similarity=0.9, importance=0.0, confidence=0.0),
        entry("b", similarity=0.85, importance=1.0, confidence=1.0),
        entry("copy", "statement a", similarity=0.7),
        entry("e", similarity=0.5, layer=Layer.EPISODE),
    ]
    told = by_id(run(rows, Curated()).decisions)
    assert [(told[k].rank_before, told[k].rank_after) for k in ("a", "b", "copy", "e")] == [
        (1, 2),
        (2, 1),
        (3, None),
        (1, 1),
    ]


def test_fingerprints_are_of_the_text_and_of_the_prefix() -> None:
    """A section that changed leaves the fingerprints before it."""
    one, other = run(), run([*ROWS, entry("new", "they met", layer=Layer.EPISODE)])
    for before, after in zip(one.sections, other.sections, strict=True):
        unchanged = before.section not in (Section.EPISODES, Section.WORKFLOWS)
        assert (before.prefix_fingerprint == after.prefix_fingerprint) is unchanged
        same = before.section is not Section.EPISODES
        assert (before.fingerprint == after.fingerprint) is same
