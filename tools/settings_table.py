"""Write the README's table of settings from the settings classes.

    python tools/settings_table.py [--check] [README.md]

With --check nothing is written, and the exit code is 1 when the table is not current.
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined
from pydantic_settings import BaseSettings

from hilvan_assembler.settings import AssemblerSettings
from hilvan_curation.settings import CurationSettings
from hilvan_kit.settings import CredentialSettings, ServerSettings
from hilvan_retrieval.settings import RetrievalSettings

README = Path(__file__).resolve().parent.parent / "README.md"
BEGIN = "<!-- settings: written by tools/settings_table.py -->"
END = "<!-- settings: end -->"

Fields = Mapping[str, FieldInfo]


def main(arguments: Sequence[str] | None = None) -> int:
    """Return 1 for a table that is not current, with --check."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("readme", type=Path, nargs="?", default=README)
    options = parser.parse_args(arguments)
    before = options.readme.read_text(encoding="utf-8")
    after = with_table(before)
    if after == before:
        return 0
    if options.check:
        print(f"{options.readme}: the table of settings is not current; run this without --check")
        return 1
    options.readme.write_text(after, encoding="utf-8")
    return 0


def with_table(text: str) -> str:
    """The text with its table made anew. ValueError unless both markers are there, once."""
    head, _, rest = text.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not end or BEGIN in tail or END in tail:
        raise ValueError(f"expected {BEGIN} and {END}, once each")
    return f"{head}{BEGIN}\n{table()}\n{END}{tail}"


def table() -> str:
    """The table: what each service has of its own, what they share, how calls are authenticated."""
    shared = ServerSettings.model_fields
    rows = ["| Variable | Default | Values | Meaning |", "|---|---|---|---|"]
    for kind in (RetrievalSettings, CurationSettings, AssemblerSettings):
        rows += _rows(_prefix(kind), _own(kind.model_fields, shared))
    rows += _rows("HILVAN_<SERVICE>_", {n: f for n, f in shared.items() if not f.is_required()})
    rows += _rows(_prefix(CredentialSettings), CredentialSettings.model_fields)
    return "\n".join(rows)


def _prefix(kind: type[BaseSettings]) -> str:
    return str(kind.model_config.get("env_prefix", ""))


def _own(fields: Fields, shared: Fields) -> Fields:
    """Fields that the service adds, and those for which it has a default of its own."""
    return {
        name: field
        for name, field in fields.items()
        if name not in shared or field.default != shared[name].default
    }


def _rows(prefix: str, fields: Fields) -> Iterator[str]:
    for name, field in fields.items():
        meaning = (field.description or "").replace("<", "&lt;")
        cells = (_code(prefix + name.upper()), _default(field), _values(field), meaning)
        yield "| " + " | ".join(each.replace("|", "\\|") for each in cells) + " |"


def _default(field: FieldInfo) -> str:
    if field.default in (None, "", PydanticUndefined):
        return ""
    return _code(str(field.default).lower() if field.annotation is bool else str(field.default))


def _values(field: FieldInfo) -> str:
    """What is allowed: the alternatives of a pattern, or the bounds of a number."""
    bounds: dict[str, Any] = {}
    for constraint in field.metadata:
        for name in ("pattern", "ge", "gt", "le"):
            if getattr(constraint, name, None) is not None:
                bounds[name] = getattr(constraint, name)
    if "pattern" in bounds:
        return ", ".join(_code(word) for word in bounds["pattern"].strip("^()$").split("|"))
    if "le" in bounds:
        low = f"above {bounds['gt']:,}" if "gt" in bounds else f"{bounds['ge']:,}"
        return f"{low} to {bounds['le']:,}"
    return "`true`, `false`" if field.annotation is bool else ""


def _code(text: str) -> str:
    return f"`{text}`"


if __name__ == "__main__":
    raise SystemExit(main())
