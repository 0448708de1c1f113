"""JSON that came with somebody's model."""

import json
from pathlib import Path
from typing import Any

from pipeline.errors import ModelError

BROKEN = "Bring the model's files again, or name another model"


def read_object(path: Path, remedy: str = BROKEN) -> dict[str, Any]:
    """The object in a file.

    Args:
        path: of the file.
        remedy: what to do if there is none.

    Raises:
        ModelError: it is missing, broken, or holds something else.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ModelError(f"{path} does not exist", remedy) from None
    except (OSError, ValueError, RecursionError) as error:
        raise ModelError(f"{path} cannot be read: {error}", remedy) from error
    if not isinstance(content, dict):
        raise ModelError(f"{path} holds a {type(content).__name__}, expected an object", remedy)
    return content
