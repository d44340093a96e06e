"""Page tokens: they come back as they were made, for the same request, and nothing else passes."""

import base64
import string

import orjson
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from hilvan_kit.paging import BadPageToken, page_key, page_token

URL_SAFE = set(string.ascii_letters + string.digits + "-_")

values = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
)
keys = st.lists(values, max_size=5)


@given(keys, st.binary())
def test_a_token_gives_its_key_back(key: list[object], request: bytes) -> None:
    """Whatever the sort values are, the token holds them and needs no escaping in a URL."""
    token = page_token(key, request)
    assert set(token) <= URL_SAFE
    assert page_key(token, request) == key


def test_the_empty_token_is_the_first_page() -> None:
    """No token asks for the first page."""
    assert page_key("", b"request") is None


@given(keys, st.binary(), st.binary())
def test_a_token_belongs_to_its_request(key: list[object], one: bytes, other: bytes) -> None:
    """A token of a request with other fields is refused and says so."""
    assume(one != other)
    with pytest.raises(BadPageToken, match="other fields"):
        page_key(page_token(key, one), other)


@given(st.text(min_size=1) | st.text(sorted(URL_SAFE), min_size=1))
def test_garbage_is_refused(token: str) -> None:
    """Text that is not a token of ours is refused, whatever it is."""
    with pytest.raises(BadPageToken, match="not a page token"):
        page_key(token, b"request")


@pytest.mark.parametrize(
    "payload",
    [b"1", b"[]", b'"ab"', b"[1,2,3]", b'["x",1]', b'["x",{"a":1}]', b"{}", b"[[],[]]", b"\xff"],
)
def test_other_json_is_refused(payload: bytes) -> None:
    """A token that decodes to anything but a digest and a key is refused."""
    with pytest.raises(BadPageToken):
        page_key(base64.urlsafe_b64encode(payload).decode().rstrip("="), b"request")


@pytest.mark.parametrize("change", [" {}", "{} ", "{}=", "{}\n", "!{}", "{}.", "{}é"])
def test_a_token_with_anything_added_is_refused(change: str) -> None:
    """Decoders that skip what they don't know make no second form of a token."""
    token = page_token(["2024-06-01", "mem-1"], b"request")
    with pytest.raises(BadPageToken):
        page_key(change.format(token), b"request")


@given(st.data())
def test_a_changed_token_is_refused_or_still_a_key(data: st.DataObject) -> None:
    """A token with one letter changed raises nothing but BadPageToken."""
    token = page_token([1, "mem-1", 0.5], b"request")
    at = data.draw(st.integers(0, len(token) - 1))
    letter = data.draw(st.sampled_from(sorted(URL_SAFE)))
    try:
        key = page_key(token[:at] + letter + token[at + 1 :], b"request")
    except BadPageToken:
        return
    assert isinstance(key, list)


def test_numbers_that_change_on_reading_are_refused() -> None:
    """A key that would not come out of `page_token` again was not made by it."""
    digest = orjson.loads(base64.urlsafe_b64decode(page_token([], b"r") + "=="))[0]
    forged = base64.urlsafe_b64encode(f'["{digest}",[1.0e0]]'.encode()).decode().rstrip("=")
    with pytest.raises(BadPageToken):
        page_key(forged, b"r")
