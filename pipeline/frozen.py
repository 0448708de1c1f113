"""What every part of the configuration is made of."""

from pydantic import BaseModel, ConfigDict


class Frozen(BaseModel):
    """A part of the configuration: immutable, and an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)
