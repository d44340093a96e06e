"""The assembler's process: the only place that reads its settings."""

import sys

import uvloop

from hilvan_assembler.composition import open_service
from hilvan_assembler.settings import AssemblerSettings
from hilvan_kit.auth import AuthMisconfigured
from hilvan_kit.service import serve
from hilvan_kit.settings import SettingsError, read_settings
from hilvan_kit.tokens import TokenizerUnusable


def main() -> None:
    """Entry point: what can't be used is said in one message, with exit code 1."""
    try:
        uvloop.run(serve("assembler", read_settings(AssemblerSettings), open_service))
    except (SettingsError, AuthMisconfigured, TokenizerUnusable) as error:
        sys.exit(f"hilvan-assembler: {error}")


if __name__ == "__main__":
    main()
