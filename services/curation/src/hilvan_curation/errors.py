"""What can go wrong in curation.

CurationError
├── NoteNotFound            no such note file, or not one that may be reached
├── NoteChanged             the file is not what the caller saw
├── NoteTooLarge            more bytes than a note may have
├── InvalidPath             not a place inside the space where a note can be
├── FrontmatterBroken       the frontmatter can't be read, or not edited in place (a ValueError)
├── SourceUnavailable       the place where the notes are can't be reached
├── SpaceNotFound           no such space, or none that the caller reads
├── ProjectNotFound         no such project, or none that the caller reads
├── CategoryNotFound        the axis has no category note of that name
├── SessionNotFound         no such session of the caller
├── NotPinnable             a tag can't pin this note
├── WriteRefused            the caller may not write the space, or not take vaults in
├── VaultRefused            the folder is no vault that this server may take in
├── MetadataRequired        the call needs the metadata database, and there is none
├── MetadataUnavailable     the metadata database does not answer
├── MetadataMisconfigured   it can't be used as it is set up; raised at start, names the fix
└── RetrievalUnavailable    retrieval does not take what it is told
"""


class CurationError(Exception):
    """Root of everything that curation raises on purpose."""


class NoteNotFound(CurationError):
    """There is no such note. Says the same whether it is absent or out of reach."""

    def __init__(self, space_id: str, path: str) -> None:
        """Name the note by its space and its path inside it."""
        self.space_id = space_id
        self.path = path
        super().__init__(f"note {path!r} of space {space_id!r} not found")


class NoteChanged(CurationError):
    """A note's file is not what the caller saw; read it again and retry."""

    def __init__(self, space_id: str, path: str) -> None:
        """Name the note by its space and its path inside it."""
        self.space_id = space_id
        self.path = path
        super().__init__(f"note {path!r} of space {space_id!r} has changed")


class NoteTooLarge(CurationError):
    """A note has more bytes than are read or written."""

    def __init__(self, path: str, limit: int) -> None:
        """Name the note and the limit in bytes."""
        self.path = path
        self.limit = limit
        super().__init__(f"note {path!r} is larger than {limit} bytes")


class InvalidPath(CurationError):
    """A path is not a place inside the space where a note can be."""

    def __init__(self, path: str, reason: str) -> None:
        """Name the path and what is wrong with it."""
        self.path = path
        self.reason = reason
        super().__init__(f"path {path!r}: {reason}")


class FrontmatterBroken(CurationError, ValueError):
    """Frontmatter that can't be read, or whose value can't be edited without touching others."""

    def __init__(self, line: int, message: str) -> None:
        """Name the line (from 1) and what is wrong there."""
        self.line = line
        self.message = message
        super().__init__(f"line {line}: {message}")


class SourceUnavailable(CurationError):
    """The place where the notes are can't be reached."""


class SpaceNotFound(CurationError):
    """There is no such space for this caller."""


class ProjectNotFound(CurationError):
    """There is no such project for this caller."""


class CategoryNotFound(CurationError):
    """The axis has no category note of that name."""


class SessionNotFound(CurationError):
    """The caller has no such session."""


class NotPinnable(CurationError):
    """The note is neither in the caller's personal space nor in a project."""


class WriteRefused(CurationError):
    """The caller reads the space and may not write it, or may not take vaults in."""


class VaultRefused(CurationError):
    """The folder is no vault, or not beneath the folders that this server may take vaults from."""


class MetadataRequired(CurationError):
    """The call needs the metadata database, and this server keeps none."""


class MetadataUnavailable(CurationError):
    """The metadata database does not answer."""


class MetadataMisconfigured(CurationError):
    """The metadata database can't be used as it is set up; the message names the fix."""


class RetrievalUnavailable(CurationError):
    """Retrieval does not take what it is told; it will be told again."""
