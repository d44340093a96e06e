"""What can go wrong with a database. No message names a host, a file or a password."""


class DatabaseUnavailable(Exception):
    """The database can't be reached, or did not do what it was asked.

    After a write: nothing of it is there, unless the connection was lost while it committed. Then
    it may be there.
    """


class DatabaseMisconfigured(Exception):
    """The database can't be used as it is set up; the message names the fix."""
