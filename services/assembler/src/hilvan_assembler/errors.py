"""What can go wrong in assembly.

AssemblerError
├── ProjectNotFound         no such project, or none that the caller reads
├── SourcesFailed           retrieval could not ask the sources that the call needs
└── ServiceError            another service can't help
├── ServiceTimeout      it did not answer inside its share of the deadline
└── ServiceUnavailable  it refused, broke off or is not there
"""


class AssemblerError(Exception):
    """Root of everything that the assembler raises on purpose."""


class ProjectNotFound(AssemblerError):
    """There is no such project for this caller."""


class SourcesFailed(AssemblerError):
    """Not every source that the call needs answered; the message names them."""


class ServiceError(AssemblerError):
    """Another service can't help; ``service`` is its name."""

    def __init__(self, service: str) -> None:
        """Name the service."""
        self.service = service
        super().__init__(service)


class ServiceTimeout(ServiceError):
    """The service did not answer inside its share of the deadline."""


class ServiceUnavailable(ServiceError):
    """The service refused, broke off or is not there."""
