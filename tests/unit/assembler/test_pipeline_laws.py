"""The pipeline as a whole: budgets, explanations and costs on a crowded turn."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.assembler.values import (
    AS_OF,
    CHARACTERS,
    WORDS,
    Grudge,
    agrees,
    crowded_turn,
    disputes,
    entry,
    options,
    recomputed,
    retrieved,
)

from hilvan_assembler.core.pipeline import assemble
from hilvan_assembler.model.candidate import Retrieved
from hilvan_assembler.model.curation import Curated
from hilvan_assembler.model.kind import Reason, Source, Tier
from hilvan_assembler.model.options import Options
from hilvan_assembler.ports.tokenizer import Tokenizer

budgets = st.fixed_dictionaries({tier: st.integers(0, 160) for tier in Tier})


@given(budgets, st.sampled_from([WORDS, CHARACTERS, Grudge()]), st.booleans())
@settings(deadline=None)
def test_the_whole_text_never_exceeds_any_budget(
    wanted: dict[Tier, int],
    tokenizer: Tokenizer,
    explain: bool,  # noqa: FBT001 (hypothesis gives it by position)
) -> None:
    """Each section, each tier, and the sum, counted on the rendered bytes."""
    found, curated = crowded_turn(candidates=40, pins=5, pairs=20)
    assembly = assemble(found, curated, options(wanted), tokenizer, agrees, explain=explain)
    assert assembly.token_count == tokenizer.count(assembly.prompt) <= sum(wanted.values())
    for each in assembly.sections:
        assert each.token_count <= each.token_budget
        assert tokenizer.count(each.text) <= each.token_budget
    memories = assembly.sections[2].text + assembly.sections[3].text
    assert tokenizer.count(memories) <= wanted[Tier.MEMORIES]


def test_explaining_changes_nothing_and_tells_everything() -> None:
    """A crowded turn: the same bytes, items and sections, and a decision for each candidate."""
    found, curated = crowded_turn()
    judge = disputes(*((found.candidates[p.left].text, found.candidates[p.right].text)
                       for p in found.pairs[::2]))  # fmt: skip
    wanted = Options(as_of=AS_OF)
    plain = assemble(found, curated, wanted, WORDS, judge)
    told = assemble(found, curated, wanted, WORDS, judge, explain=True)
    assert plain.decisions == ()
    assert (plain.prompt, plain.items, plain.sections, plain.notices) == (
        told.prompt,
        told.items,
        told.sections,
        told.notices,
    )
    assert len(told.decisions) == len(found.candidates) + len(curated.pins + curated.identity)
    assert {each.id for each in told.items} == {
        each.id for each in told.decisions if each.reason is Reason.RENDERED
    }
    assert Reason.CONTRADICTED_BY in {each.reason for each in told.decisions}
    scored = [each for each in told.decisions if each.candidate is not None]
    assert all(each.score == pytest.approx(recomputed(each)) for each in scored)


def test_only_what_would_be_rendered_is_judged() -> None:
    """Reading a text costs most: a full tier asks about none of the rest."""
    asked: list[str] = []

    def judge(older: str, newer: str) -> None:
        asked.extend((older, newer))

    rows = [entry(f"m{n}", f"text {n} " + "x" * 400, similarity=0.9 - n / 100) for n in range(9)]
    pairs = {(f"m{n}", f"m{n + 1}"): 0.8 for n in range(8)}
    found = retrieved(*rows, pairs=pairs)
    wanted = options({Tier.MEMORIES: 1000})
    assemble(found, Curated(), wanted, CHARACTERS, judge)
    assert {text[5] for text in asked} <= set("0123")


def test_without_anything_the_prompt_is_empty() -> None:
    """No candidate, no pin, no block: no text, and nothing relevant."""
    assembly = assemble(Retrieved(), Curated(), options(), WORDS, agrees)
    assert (assembly.prompt, assembly.token_count, assembly.items) == ("", 0, ())
    assert assembly.no_relevant_memory


def test_sources_that_are_silent_leave_the_other_ones_hits() -> None:
    """One engine lost: the other one's hits, at full relevance."""
    found = retrieved(entry("m", bm25=4.0), asked=[Source.KEYWORD])
    assembly = assemble(found, Curated(), options(), WORDS, agrees, explain=True)
    signals = assembly.decisions[0].signals
    assert signals is not None
    assert signals.relevance == 1.0
