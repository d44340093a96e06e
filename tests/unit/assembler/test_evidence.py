"""The contradiction evidence: what it finds, what it leaves alone, and the laws it keeps."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hilvan_assembler.core.evidence import Contradiction, EvidenceKind, judge, read

PHRASES = (
    "Ana,Luis,the office,la oficina,the database,is,isn't,es,no es,está,lives in,vive en,works at,"
    "trabaja en,likes,le gusta,doesn't like,moved to,se mudó a,moved from,no longer uses,ya no usa,"
    "uses,used to,left,dejó,was shut down,in use,now,ahora,since,desde,if,si,?,:,was,replaced,with,"
    "sustituimos,por,room 12,sala 40,at 9:30,a las 10:00,4pm,on Monday,el lunes,3 May,14 de marzo,"
    "2025-06-30,31/12/2025,Q3,two,dos,cats,30 seconds,1 minute,$4,80%,v2,1.27,1.30,PR 118,Madrid,"
    "Berlin,Spain,PostgreSQL,MySQL,English,español,open,cerrado,for,para,of,de,as,como,.,and,on,off,"
    "assigned to,the manager,el jefe,staging,project,first,segunda,has,tiene,with VAT,may,not"
)
statements = st.lists(st.sampled_from(PHRASES.split(",")), max_size=9).map(" ".join)
texts = st.one_of(st.text(max_size=60), statements)


def decide(older: str, newer: str) -> Contradiction | None:
    """Judge two texts."""
    return judge(read(older), read(newer))


@pytest.mark.parametrize(
    ("older", "newer", "conflict"),
    [
        (
            "Ana likes coffee",
            "Ana doesn't like coffee",
            (EvidenceKind.POLARITY, "Ana likes coffee", "Ana doesn't like coffee"),
        ),
        (
            "Luis es alérgico al polen",
            "Luis is not allergic to pollen",
            (
                EvidenceKind.POLARITY,
                "Luis es alérgico al polen",
                "Luis is not allergic to pollen",
            ),
        ),
        (
            "Ana lives in Madrid",
            "Ana lives in Berlin",
            (EvidenceKind.CHANGED_VALUE, "Madrid", "Berlin"),
        ),
        (
            "Ticket WEB-90 is open",
            "El ticket WEB-90 está cerrado",
            (EvidenceKind.CHANGED_VALUE, "open", "cerrado"),
        ),
        (
            "The lead of Falcon is Irene",
            "Pablo is the lead of Falcon",
            (EvidenceKind.CHANGED_VALUE, "Irene", "Pablo"),
        ),
        (
            "La base de datos es PostgreSQL",
            "La base de datos es MySQL",
            (EvidenceKind.CHANGED_VALUE, "PostgreSQL", "MySQL"),
        ),
        (
            "Usamos Oracle como base de datos",
            "The database is MySQL",
            (EvidenceKind.CHANGED_VALUE, "Oracle", "MySQL"),
        ),
        ("Ana has two cats", "Ana has three cats", (EvidenceKind.CHANGED_NUMBER, "two", "three")),
        (
            "We run Kubernetes 1.3",
            "We run Kubernetes 1.30",
            (EvidenceKind.CHANGED_NUMBER, "1.3", "1.30"),
        ),
        (
            "Standup is at 9:30",
            "Standup: 10:00",
            (EvidenceKind.CHANGED_DATE, "9:30", "10:00"),
        ),
        (
            "The deadline is March 14",
            "La fecha límite es el 2 de abril",
            (EvidenceKind.CHANGED_DATE, "March 14", "2 de abril"),
        ),
        (
            "The standup is at 9:30",
            "The standup was moved to 10:00",
            (EvidenceKind.CHANGED_DATE, "9:30", "10:00"),
        ),
        (
            "Ana's office is in room 12",
            "Ana moved to room 40",
            (EvidenceKind.STATE_CHANGE, "room 12", "room 40"),
        ),
        (
            "We use Jenkins for CI",
            "We switched from Jenkins to GitHub Actions",
            (EvidenceKind.STATE_CHANGE, "Jenkins", "Jenkins to GitHub Actions"),
        ),
        (
            "Usamos REST entre servicios",
            "Sustituimos REST por gRPC entre servicios",
            (EvidenceKind.STATE_CHANGE, "REST", "REST por gRPC"),
        ),
        (
            "The team uses Slack",
            "The team now uses Teams",
            (EvidenceKind.STATE_CHANGE, "Slack", "Teams"),
        ),
        (
            "The team uses Slack",
            "The team moved to Teams",
            (EvidenceKind.STATE_CHANGE, "Slack", "Teams"),
        ),
        (
            "El equipo usa Trello",
            "El equipo ya no usa Trello",
            (EvidenceKind.STATE_CHANGE, "El equipo usa Trello", "El equipo ya no usa Trello"),
        ),
        ("Carla works at Acme", "Carla left Acme", (EvidenceKind.STATE_CHANGE,)),
        ("The legacy API is in use", "The legacy API was shut down", (EvidenceKind.STATE_CHANGE,)),
        ("Ana lives in Lima", "Ana used to live in Lima", (EvidenceKind.STATE_CHANGE,)),
        ("Ana doesn't eat fish", "Ana eats fish", (EvidenceKind.POLARITY,)),
        (
            "Ana moved to room 40",
            "Ana's office is in room 12",
            (EvidenceKind.STATE_CHANGE, "room 40", "room 12"),
        ),
        (
            "The audit is on 14 March 2025",
            "The audit is on March 14, 2026",
            (EvidenceKind.CHANGED_DATE, "14 March 2025", "March 14, 2026"),
        ),
        ("We host the site on Heroku", "We moved the site to Fly.io", (EvidenceKind.STATE_CHANGE,)),
        ("The flag beta is on", "The flag beta is off", (EvidenceKind.POLARITY,)),
        ("The demo is in Q3", "The demo is in Q4", (EvidenceKind.CHANGED_DATE,)),
    ],
)
def test_a_conflict_names_its_kind_and_both_spans(
    older: str, newer: str, conflict: tuple[EvidenceKind, str, str]
) -> None:
    """Each kind of evidence is found in both languages and points at the words that decide."""
    found = decide(older, newer)
    assert found is not None
    assert (found.kind, found.older_span, found.newer_span)[: len(conflict)] == conflict
    assert 0 < found.confidence <= 1


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Luis works at Acme", "Luis had lunch with Acme's director"),
        ("User is allergic to peanuts", "user is ALLERGIC to peanuts!"),
        ("Ana likes coffee", "Ana likes tea"),
        ("Luis works at Acme", "Luis works at Acme as an engineer"),
        ("Luis trabaja en Acme", "Luis trabaja en Madrid"),
        ("Ana lives in Spain", "Ana lives in Madrid"),
        ("Luis works at Acme", "Luis trabaja en Acme"),
        ("Ana's office is in room 40", "Ana moved to room 40"),
        ("The audit is on 03/14/2025", "The audit is on 14/03/2025"),
        ("Ana is in Madrid", "Ana is in Berlin"),
        ("Met Bob on Monday", "Met Bob on Tuesday"),
        ("Lunch with Bob on Monday", "Lunch with Bob on Friday"),
        ("Desplegamos la versión 1.4 el lunes", "Desplegamos la versión 1.5 el jueves"),
        ("Luis works on PR 118", "Luis works on PR 121"),
        ("The timeout is 60 seconds", "El tiempo de espera es de 1 minuto"),
        ("The meeting is at 3pm", "La reunión es a las 15:00"),
        ("The price is 30 euros", "The price is 36 euros with VAT"),
        ("We run Django 4.2", "We run Django 4.2.1"),
        ("Ana is available from 9:00", "Ana is available until 17:00"),
        ("The docs are stored in Parquet", "The docs are stored in BigQuery"),
        ("The linters are ruff and mypy", "The linters are ruff, mypy and bandit"),
        ("The errors are logged in Sentry", "The errors are logged in CloudWatch"),
        ("Is the standup at 9:30?", "The standup is at 10:00"),
        ("¿La daily es a las 9:30?", "La daily es a las 10:00"),
        ("Which database is MySQL", "The database is PostgreSQL"),
        ("If it is down, the database is MySQL", "The database is PostgreSQL"),
        ("The office might be in Leeds", "The office is in York"),
        ("Ana doesn't like coffee in the evening", "Ana likes coffee"),
        ("It isn't easy", "Easy"),
        ("We moved from Slack to Teams", "Luis likes Slack"),
        ("Bob moved to the billing team", "Bob lives in Berlin"),
        ("Luis left Acme", "Ana works at Acme"),
        ("The legacy API was shut down", "The new API is in use"),
        ("Backups run daily", "Exports run weekly"),
        ("Max retries is 3", "Max retries in staging is 3"),
        ("Sí, usamos Slack", "Usamos Slack"),
        ("The port of the API is 80", "The port of the API in staging is 81"),
    ],
)
def test_similar_is_not_contradictory(older: str, newer: str) -> None:
    """Other subjects, details, many-valued relations, events, plans and questions stay."""
    assert decide(older, newer) is None
    assert decide(newer, older) is None


def test_each_assertion_of_a_short_text_counts() -> None:
    """A conflict may sit in any sentence, and its spans come from that sentence."""
    found = decide("Ana likes tea. Ana lives in Madrid.", "Ana lives in Berlin because of work")
    assert found is not None
    assert (found.older_span, found.newer_span) == ("Madrid", "Berlin")


@pytest.mark.parametrize("text", ["Ana lives in Madrid. " * 4, "Ana lives in Madrid" + " x" * 200])
def test_a_passage_claims_nothing(text: str) -> None:
    """A text of many sentences or characters is never retired for one of its sentences."""
    assert read(text).clauses == ()
    assert decide(text, "Ana lives in Berlin") is None


@given(texts, texts)
@example("a\ud800", "\x00")
@example("is in Madrid", "está en Berlin")
@example("9" * 299, "1 " * 150)
def test_any_two_texts_are_judged(older: str, newer: str) -> None:
    """No text raises, the answer is always the same, and spans are parts of the texts."""
    found = decide(older, newer)
    assert found == decide(older, newer)
    if found is not None and older.isascii() and newer.isascii():
        assert found.older_span in older
        assert found.newer_span in newer


@given(texts, texts)
@example("Irene is the lead of Falcon", "The lead of Falcon is Pablo")
def test_a_conflict_is_found_whichever_text_is_newer(older: str, newer: str) -> None:
    """Existence is symmetric: who wins is a question of time, not of meaning."""
    assert (decide(older, newer) is None) == (decide(newer, older) is None)


@given(texts, st.sampled_from([str.upper, str.lower, str.title, str.swapcase]))
@example("Ana isn't in Madrid", str.upper)
def test_a_text_never_conflicts_with_itself(text: str, variant: object) -> None:
    """Nor with itself in other letters, or with other marks around it."""
    assert callable(variant)
    changed = str(variant(text))
    assert decide(text, text) is None
    for same in (changed, f"{text}.", f"  «{text}» !", text.replace(" ", ", ")):
        assert decide(text, same) is None
