"""The contradiction evidence on the styles of chats, notes and memory extractors."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hilvan_assembler.core.evidence import EvidenceKind, announces_change, judge, read

CHANGES = (
    "Ana,I,El usuario,la cuenta,moved to,switched from,se mudó a,pasó al,no longer uses,ya no usa,"
    "now,ahora,uses,usa,vive en,lives in,works at,left,dejó,sold,vendí,instead of,en vez de,"
    "due to,por un,sino,and,y,not,no,Madrid,Berlin,MySQL,PostgreSQL,plan,basic,avanzado,"
    "the theme,room 12,sala 40,a car,el piano,was removed,se canceló,gave up,:,."
)
texts = st.lists(st.sampled_from(CHANGES.split(",")), max_size=9).map(" ".join)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("I live in Madrid", "I moved to Berlin last week"),
        ("Vivo en Valencia", "Me mudé a Bilbao la semana pasada"),
        ("User's cook is Mr. Webb", "My cook is Mrs. Lowe"),
        ("I'm vegan", "I am not vegan anymore"),
        ("It's open. The gate is red", "The gate is blue"),
        ("No como cerdo", "Como cerdo"),
        ("User prefers window seats", "User now prefers aisle seats"),
        ("User likes long walks", "User hates long walks"),
        ("User eats nuts", "User can't eat nuts"),
        ("User drinks beer on weekends", "User doesn't drink beer"),
        ("Lía quiere café con leche", "Lía ya no quiere café con leche: solo té"),
        ("Lía takes tea with milk", "Lía no longer takes milk in her tea: plain, no sugar"),
        ("Invoices go out on paper", "Invoices go out by email, not on paper"),
        ("We track bugs in Jira", "We track bugs in Linear instead of Jira"),
        ("The door code is 12", "The door code is now 34, not 12"),
        ("We check updates by hand", "We check updates with Renovate, no longer by hand"),
        ("La guardia la cubre Elena", "La guardia ya no la cubre Elena sino Marcos"),
        ("User prefers hotels with a pool", "User prefers apartments to hotels"),
        ("The shop stores orders in MySQL 8", "The shop uses Redis; it no longer uses MySQL"),
        ("Rosa rents a studio on Elm Street", "Rosa bought a house and left the studio"),
        ("Grupo Olmo tiene el plan básico", "Grupo Olmo pasó al plan avanzado"),
        ("El plan de Olmo es Oro", "El plan de Olmo fue cambiado a Plata"),
        ("The wifi password is blue77", "The wifi password was changed to fox91"),
        ("Rubén vive en Triana, cerca del río", "Rubén vive ahora en Nervión, junto al metro"),
        ("The team sits on the second floor", "The team moved to the fifth floor"),
        ("My aunt lives with us", "My aunt moved to her own apartment"),
        ("User drives a Honda Civic", "User sold the Honda Civic and takes the bus"),
        ("I'm studying for the bar exam", "I gave up studying for the bar exam"),
        ("Toco el piano todos los días", "Dejé el piano"),
        ("We pay Ema through PayPal", "We pay Ema through Wise now"),
        ("Returns go to the billing team", "Returns now go to the success team"),
        ("User swims on Mondays", "User no longer swims due to a shoulder injury"),
        ("Log: winston", "Log: pino"),
        ("Bug 882: severity minor", "Bug 882: severity trivial"),
        ("Preferred pharmacy: Walgreens", "Preferred pharmacy: CVS"),
        ("DB: Postgres 14", "DB: Postgres 16"),
        ("The call is at noon", "The call is at 13:00"),
        ("Mi móvil es un iPhone 12", "Cambié el iPhone 12 por un Pixel 8"),
        ("Usamos NATS", "NATS fue sustituido por Kafka"),
    ],
)
def test_a_change_is_found_in_each_style(older: str, newer: str) -> None:
    """First persons, contrasts, asides, labels, coordination and endings of all kinds."""
    assert judge(read(older), read(newer)) is not None
    assert judge(read(newer), read(older)) is not None


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        (
            "Ana vive en Lugo, a dos calles de la sede",
            "Ana se pasó a la sala 40 de la sede de Lugo",
        ),
        ("Ana: Cool! What did it look like?", "Ana: Thanks! That means a lot."),
        ("Ana: Wow!", "Ana: Yay!"),
        ("Todo: call Ines", "Todo: call Ramon"),
        ("Allergies: peanuts", "Allergies: shellfish"),
        ("Theme: dark", "Theme colour: blue"),
        ("I read that book", "No, I haven't read that book yet"),
        ("Way to go", "No way, go"),
        ("The user left the bakery at noon", "The user works at the bakery"),
        ("Dejé el piano en casa de mi tía", "Toco el piano"),
        ("User sold the car", "User has two cars"),
        ("User no longer uses Facebook", "User uses Instagram"),
        ("User now plays the cello", "User plays the piano"),
        ("Ana now uses a standing desk", "Ana uses Neovim"),
        ("User prefers to sit near the door", "User likes the door"),
        ("Ana prefers text so that they can live in a box", "Ana vive ahora en Teruel"),
        ("Answer me in French", "Answer customers in English"),
        ("User's mother is a Dr", "User's mother moved to Lyon"),
        ("Ana changed her editor to a light theme", "ANA IS IN PARIS"),
        ("The left lane is closed", "The lane is open"),
        ("My brother is Al", "My brother is Bo"),
        ("Lía bebe vino los fines de semana", "Lía no bebe vino entre semana"),
        ("Usamos Redis sino NATS", "Usamos Kafka"),
        ("Desplegamos en Lugo el lunes", "Desplegamos en Vigo el jueves"),
        ("When it rains, User takes the bus", "User doesn't take the bus"),
    ],
)
def test_what_only_looks_like_a_change_is_left_alone(older: str, newer: str) -> None:
    """Speakers, answers, lists, farewells for an hour, other owners of a plural."""
    assert judge(read(older), read(newer)) is None
    assert judge(read(newer), read(older)) is None


@pytest.mark.parametrize(
    "text",
    [
        "Ana moved to room 40",
        "She isn't vegan",
        "Bob gave up coffee",
        "We use X instead of Y",
        "The old API was removed",
        "Ana se mudó",
        "Ya no usa Slack",
        "El sistema SE ELIMINÓ",
        "Ahora paga con tarjeta",
    ],
)
def test_a_text_that_tells_a_change_announces_it(text: str) -> None:
    """Words and phrases of both languages announce a change, in any letters."""
    assert announces_change(text)


@pytest.mark.parametrize(
    "text",
    ["Ana lives in Madrid", "The used car gave me joy", "Vive en Lugo", "", "Now " + "x" * 300],
)
def test_other_texts_announce_nothing(text: str) -> None:
    """Nor does a text that is too long to claim anything."""
    assert not announces_change(text)


@given(texts, texts)
def test_every_state_change_is_announced_by_one_side(older: str, newer: str) -> None:
    """What the rules take for a change is never overlooked by the first look."""
    found = judge(read(older), read(newer))
    if found is not None and found.kind is EvidenceKind.STATE_CHANGE:
        assert announces_change(older) or announces_change(newer)
