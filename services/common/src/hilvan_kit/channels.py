"""Channels from one service to another."""

import grpc

from hilvan_kit.server import MAX_MESSAGE_BYTES

# Every server of ours tells by the name "" whether it is ready. Watching that takes a draining
# server out before it closes.
_SERVICE_CONFIG = """{
    "loadBalancingConfig": [{"round_robin": {}}],
    "healthCheckConfig": {"serviceName": ""}
}"""

CHANNEL_OPTIONS = (
    ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
    ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
    ("grpc.service_config", _SERVICE_CONFIG),
    # New pods are found within seconds; see measured.md, section 1.
    ("grpc.dns_min_time_between_resolutions_ms", 5_000),
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 500),
)


def open_channel(target: str) -> grpc.aio.Channel:
    """A channel in clear text, for a trusted network; nothing is sent yet."""
    return grpc.aio.insecure_channel(target, options=CHANNEL_OPTIONS)
