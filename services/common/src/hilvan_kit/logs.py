"""Logging: one JSON object a line on standard error."""

import json
import logging
import sys
from typing import Any

import orjson
import structlog
from structlog.typing import EventDict


def configure_logging(level: str, service: str) -> None:
    """Set structlog up for the process; ``level`` is debug, info, warning or error."""

    def name_service(_: Any, __: str, event: EventDict) -> EventDict:
        return {"service": service, **event}

    structlog.configure(
        processors=[
            name_service,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(serializer=_line),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(
            logging.getLevelNamesMapping()[level.upper()]
        ),
        # Bytes, because a line for every call is written on the hot path.
        logger_factory=structlog.BytesLoggerFactory(file=sys.stderr.buffer),
        cache_logger_on_first_use=True,
    )


def _line(event: EventDict, **_: Any) -> bytes:
    try:
        return orjson.dumps(event, default=str)
    except TypeError:
        # Lone surrogates of a file name, integers above 64 bits: no line is worth a failed call.
        return json.dumps(event, default=str).encode()
