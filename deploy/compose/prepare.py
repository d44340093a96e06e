# noqa: INP001 (a script)
"""Makes what compose.yaml reads, once: .env with passwords, keys/ and vaults/ beside it.

``python deploy/compose/prepare.py`` in an environment that has the package (``make install``).
The keys of people are shown and not kept; more of them: ``hilvan key new``.
"""

import argparse
import os
import secrets
import sys
from pathlib import Path

from hilvan_kit.auth import Role, generate

IMAGE_USER = 10001


def prepare(folder: Path, tenant: str) -> str:
    """Write the files, and tell the key of the tenant's admin. Raises FileExistsError."""
    service, service_record = generate("*", "curation", Role.SERVICE)
    admin, admin_record = generate(tenant, "admin", Role.ADMIN)
    # Root's files would make curation run as root: then it runs as the image's own user.
    user, group = (os.getuid(), os.getgid()) if os.getuid() else (IMAGE_USER, IMAGE_USER)
    values = {
        "POSTGRES_PASSWORD": secrets.token_hex(24),
        "QDRANT_API_KEY": secrets.token_hex(24),
        "RETRIEVAL_KEY": service,
        "CURATION_USER": f"{user}:{group}",
    }
    file = folder / ".env"
    file.touch(mode=0o600, exist_ok=False)
    file.write_text("".join(f"{name}={value}\n" for name, value in values.items()), "utf-8")
    for name in ("keys", "vaults"):
        (folder / name).mkdir(exist_ok=True)
    if not os.getuid():
        os.chown(folder / "vaults", user, group)
    # Hashes only, so that the containers' user may read them.
    lines = f"{service_record.to_line()}\n{admin_record.to_line()}\n"
    (folder / "keys/api-keys.yaml").write_text(lines, encoding="utf-8")
    return admin


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description="Make the files that compose.yaml reads.")
    parser.add_argument("--tenant", default="acme", help="The tenant of the admin's key.")
    folder = Path(__file__).resolve().parent
    try:
        key = prepare(folder, parser.parse_args().tenant)
    except FileExistsError as error:
        parser.exit(1, f"{error.filename} exists: its passwords are those of the volumes\n")
    sys.stdout.write(f"HILVAN_API_KEY={key}\n")


if __name__ == "__main__":
    main()
