# noqa: INP001 (a script)
"""The images' health check: ``health.py SERVICE`` ends with 0 when the service is ready.

Asks over gRPC, as a client would, on the port that ``HILVAN_<SERVICE>_LISTEN`` names.
"""

import os
import sys

from hilvan_client.health import check
from hilvan_client.service_config import Service

service = Service(sys.argv[1])
port = os.environ[f"HILVAN_{service.upper()}_LISTEN"].rpartition(":")[2]
status = check(service, f"127.0.0.1:{port}")
sys.exit(None if status == "SERVING" else status)
