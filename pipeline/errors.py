"""Every error that voxring raises on purpose.

VoxringError
 ├── ConfigError    a configuration file, key or value is wrong
 ├── ModelError     a model is missing, broken or of the wrong kind
 ├── AudioError     a clip cannot be read, or sound has the wrong shape
 ├── StageError     a stage could not start, died or hung
 ├── SessionError   a conversation could not be opened, or has ended
 └── OutputError    a result cannot be written

The rings have a small tree of their own in `ringbuf.errors`, because they can be used alone.
"""


def reason(error: BaseException) -> str:
    """What a library's error says, on one line; its kind if it says nothing."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


class VoxringError(Exception):
    """What went wrong, and what to do about it.

    Args:
        message: what was seen and what was expected, one line.
        remedy: what to do next, one line; empty if there is nothing to do.
    """

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message, remedy)
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.message}. {self.remedy}" if self.remedy else self.message


class ConfigError(VoxringError):
    """A configuration file, key or value is wrong."""


class ModelError(VoxringError):
    """A model is missing, broken or of the wrong kind."""


class AudioError(VoxringError):
    """A clip cannot be read, or sound has the wrong shape."""


class StageError(VoxringError):
    """A stage could not start, died or hung."""


class SessionError(VoxringError):
    """A conversation could not be opened, or has ended."""


class OutputError(VoxringError):
    """A result cannot be written."""
