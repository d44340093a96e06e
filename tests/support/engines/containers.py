"""An engine in a container, where Docker answers."""

import os
import socket
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager

from support.engines.notes import EngineMissing

DOCKER_S = 5
SOCKET = "unix:///var/run/docker.sock"


def knock() -> None:
    """Connect to Docker's socket once, because its client leaves a refused one open.

    Raises:
        OSError: Nobody listens there.
    """
    scheme, _, path = os.environ.get("DOCKER_HOST", SOCKET).partition("://")
    if scheme == "unix":
        with socket.socket(socket.AF_UNIX) as door:
            door.settimeout(DOCKER_S)
            door.connect(path)


@contextmanager
def container(image: str, port: int, environment: Mapping[str, str]) -> Iterator[str]:
    """Run a container and give the host:port by which its port is reached from here.

    Raises:
        EngineMissing: Docker doesn't answer, or can't bring the image.
    """
    try:
        knock()
    except OSError as error:
        raise EngineMissing("Docker doesn't answer") from error
    # Loaded here: only a run that has neither an address nor a process pays for it.
    import docker
    from docker.errors import DockerException
    from testcontainers.core.container import DockerContainer

    try:
        with closing(docker.from_env(timeout=DOCKER_S)) as client:
            client.ping()
    except DockerException as error:
        raise EngineMissing("Docker doesn't answer") from error
    made = DockerContainer(image).with_exposed_ports(port)
    for name, value in environment.items():
        made.with_env(name, value)
    try:
        running = made.start()
    except DockerException as error:
        raise EngineMissing(f"Docker can't run {image}: {error}") from error
    try:
        yield f"{running.get_container_host_ip()}:{running.get_exposed_port(port)}"
    finally:
        running.stop()
