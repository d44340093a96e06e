"""Generate gen/ from proto/: messages, gRPC stubs and their types.

Also copies Google's annotations out of the installed googleapis-common-protos, so that buf can
resolve them without a network.
"""

import shutil
import sys
from importlib.resources import files
from pathlib import Path

from grpc_tools import protoc

ROOT = Path(__file__).resolve().parent.parent
GEN = ROOT / "gen"
BIN = Path(sys.executable).parent


def main() -> int:
    """Return protoc's exit code."""
    shutil.rmtree(GEN, ignore_errors=True)
    third_party = GEN / "third_party" / "google" / "api"
    third_party.mkdir(parents=True)
    annotations = (files("google.api") / "field_behavior.proto").read_text()
    (third_party / "field_behavior.proto").write_text(annotations)
    protos = sorted(str(path.relative_to(ROOT / "proto")) for path in ROOT.glob("proto/**/*.proto"))
    arguments = [
        f"-I{ROOT / 'proto'}",
        f"-I{GEN / 'third_party'}",
        f"-I{files('grpc_tools') / '_proto'}",
        *(
            f"--plugin=protoc-gen-{name}={BIN / f'protoc-gen-{name}'}"
            for name in ("mypy", "mypy_grpc")
        ),
        *(f"--{plugin}_out={GEN}" for plugin in ("python", "grpc_python", "mypy", "mypy_grpc")),
        *protos,
    ]
    code: int = protoc.main(["protoc", *arguments])
    return code


if __name__ == "__main__":
    sys.exit(main())
