"""Principals, grants, and whom a call may act for."""

import dataclasses
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hilvan_kit.auth import (
    ANY_TENANT,
    TENANT_KEY,
    USER_KEY,
    AuthError,
    Grant,
    PermissionDenied,
    Principal,
    Reason,
    Role,
    Unauthenticated,
)
from hilvan_kit.auth.principal import act_as

PEOPLE = [Role.MEMBER, Role.ADMIN]
ids = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,127}", fullmatch=True)


@pytest.mark.parametrize("good", ["a", "7", "acme-eu-1", "ana@acme.com", "a" * 128, "A.b_c"])
def test_an_id_may_have_128_of_its_characters(good: str) -> None:
    """Letters, digits and ``._@-`` make an id, 1 to 128 of them."""
    assert Principal(good, good, Role.MEMBER).tenant == good


@pytest.mark.parametrize("bad", ["", "a" * 129, ".a", "-a", "@a", "a b", "a/b", "año", "a\n", "*"])
@pytest.mark.parametrize("part", ["tenant", "user"])
def test_a_malformed_id_makes_no_principal(part: str, bad: str) -> None:
    """A principal with a malformed tenant or user can't exist, and the error repeats no value."""
    with pytest.raises(ValueError, match=f"^{part} must be 1 to 128") as caught:
        Principal(**{"tenant": "acme", "user": "ana", "role": Role.MEMBER, part: bad})  # type: ignore[arg-type]  # the parts are of two types
    assert len(bad) < 2 or bad not in str(caught.value)


def test_a_principal_is_frozen() -> None:
    """Nobody can turn a principal into another one."""
    principal = Principal("acme", "ana", Role.MEMBER)
    with pytest.raises(dataclasses.FrozenInstanceError):
        principal.tenant = "other"  # type: ignore[misc]  # the very mistake under test


@pytest.mark.parametrize("role", PEOPLE)
def test_no_person_belongs_to_every_tenant(role: Role) -> None:
    """Only a service can be granted every tenant."""
    with pytest.raises(ValueError, match="for the role 'service' only"):
        Grant(ANY_TENANT, "ana", role)


@pytest.mark.parametrize("role", Role)
def test_a_grant_has_wellformed_ids(role: Role) -> None:
    """A grant of a malformed tenant or user can't exist."""
    with pytest.raises(ValueError, match=r"^tenant must be"):
        Grant("ac me", "ana", role)
    with pytest.raises(ValueError, match=r"^user must be"):
        Grant("acme", "", role)


@pytest.mark.parametrize("role", PEOPLE)
@pytest.mark.parametrize(
    "metadata", [{}, {TENANT_KEY: "acme"}, {TENANT_KEY: "acme", USER_KEY: "ana"}]
)
def test_a_person_is_who_the_credential_says(role: Role, metadata: dict[str, str]) -> None:
    """Members and admins are themselves, whether they name themselves or not."""
    assert act_as(Grant("acme", "ana", role), metadata) == Principal("acme", "ana", role)


@pytest.mark.parametrize("role", PEOPLE)
def test_a_person_may_not_name_somebody_else(role: Role) -> None:
    """Another tenant or user in the metadata of a member or admin is denied."""
    grant = Grant("acme", "ana", role)
    with pytest.raises(PermissionDenied) as tenant:
        act_as(grant, {TENANT_KEY: "globex"})
    assert tenant.value.reason is Reason.TENANT_NOT_ALLOWED
    with pytest.raises(PermissionDenied) as user:
        act_as(grant, {USER_KEY: "bob"})
    assert user.value.reason is Reason.USER_NOT_ALLOWED


def test_a_service_that_names_a_user_is_that_member() -> None:
    """A service takes the user from the metadata, and with it a member's rights and no more."""
    grant = Grant(ANY_TENANT, "assembler", Role.SERVICE)
    named = act_as(grant, {TENANT_KEY: "acme", USER_KEY: "ana"})
    assert named == Principal("acme", "ana", Role.MEMBER)


def test_a_service_that_names_nobody_is_itself() -> None:
    """A service of every tenant that names only the tenant acts there as the service it is."""
    grant = Grant(ANY_TENANT, "assembler", Role.SERVICE)
    assert act_as(grant, {TENANT_KEY: "acme"}) == Principal("acme", "assembler", Role.SERVICE)


@pytest.mark.parametrize("metadata", [{}, {USER_KEY: "ana"}, {TENANT_KEY: ANY_TENANT}])
def test_a_service_without_a_tenant_is_told_so(metadata: dict[str, str]) -> None:
    """A service of every tenant must name one; the star is not one."""
    with pytest.raises(Unauthenticated, match="must name the tenant") as caught:
        act_as(Grant(ANY_TENANT, "assembler", Role.SERVICE), metadata)
    assert caught.value.reason is Reason.TENANT_MISSING


def test_a_service_of_one_tenant_stays_in_it() -> None:
    """A service that was granted one tenant acts for any user of it and for no other tenant."""
    grant = Grant("acme", "importer", Role.SERVICE)
    assert act_as(grant, {USER_KEY: "ana"}) == Principal("acme", "ana", Role.MEMBER)
    for other in ("globex", ANY_TENANT, ""):
        with pytest.raises(PermissionDenied) as caught:
            act_as(grant, {TENANT_KEY: other})
        assert caught.value.reason is Reason.TENANT_NOT_ALLOWED


@pytest.mark.parametrize("metadata", [{TENANT_KEY: ""}, {TENANT_KEY: "acme", USER_KEY: "a b"}])
def test_a_malformed_name_makes_no_principal(metadata: dict[str, str]) -> None:
    """A service that names a malformed tenant or user is refused."""
    with pytest.raises(Unauthenticated) as caught:
        act_as(Grant(ANY_TENANT, "assembler", Role.SERVICE), metadata)
    assert caught.value.reason is Reason.PRINCIPAL_INVALID


@given(
    tenant=ids,
    user=ids,
    role=st.sampled_from(Role),
    metadata=st.dictionaries(st.sampled_from([TENANT_KEY, USER_KEY]), ids | st.text()),
)
def test_nothing_in_the_metadata_widens_a_grant(
    tenant: str, user: str, role: Role, metadata: dict[str, str]
) -> None:
    """Whatever the metadata says, the tenant stays, and people stay themselves."""
    try:
        principal = act_as(Grant(tenant, user, role), metadata)
    except AuthError:
        return
    assert principal.tenant == tenant
    acts_for_user = role is Role.SERVICE and USER_KEY in metadata
    assert principal.role is (Role.MEMBER if acts_for_user else role)
    assert role is Role.SERVICE or principal.user == user


@pytest.mark.parametrize("reason", Reason)
def test_every_reason_has_a_message_of_its_own(reason: Reason) -> None:
    """Each reason is a constant of the wire and has its one fixed message."""
    assert re.fullmatch(r"[A-Z][A-Z_]+[A-Z]", reason)
    messages = [str(Unauthenticated(other)) for other in Reason]
    assert messages.count(str(PermissionDenied(reason))) == 1
