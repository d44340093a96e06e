"""The generated messages and stubs of Qdrant's gRPC API, without the client around them.

Importing the package that carries them costs 2 s of every start and 60 MB, for pydantic models
that nobody here uses. The generated part is complete in itself, so only its folder is loaded.
"""

import sys
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

_NAME = "qdrant_grpc_stubs"  # one part: `import` of a dotted name would import its parent


def _load() -> ModuleType:
    parent = find_spec("qdrant_client")
    if parent is None or not parent.submodule_search_locations:
        raise ModuleNotFoundError("qdrant-client is not installed")
    folder = Path(parent.submodule_search_locations[0]) / "grpc"
    spec = spec_from_file_location(
        _NAME, folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    if spec is None or spec.loader is None:
        raise ModuleNotFoundError(f"qdrant-client has no generated stubs in {folder}")
    module = sys.modules[_NAME] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if TYPE_CHECKING:
    from qdrant_client import grpc as qdrant
else:
    qdrant = _load()

__all__ = ["qdrant"]
