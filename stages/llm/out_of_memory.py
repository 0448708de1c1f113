"""PyTorch's error that there is no memory left on a GPU, said so that somebody can mend it."""

from pipeline.errors import StageError, reason

_SENTENCES = 3  # that it ran out, what it wanted, what there was; then come a page of advice


def explained(error: Exception) -> Exception:
    """The error itself, or what to say and do about it if a GPU ran out of memory in a turn."""
    import torch  # where it is not loaded yet, nothing of it failed

    if not isinstance(error, torch.OutOfMemoryError):
        return error
    told = StageError(
        f"no memory for this turn: {'. '.join(reason(error).split('. ')[:_SENTENCES])}",
        "End other programs on the GPU, or lower pipeline.lanes or llm.context",
    )
    told.__cause__ = error
    return told
