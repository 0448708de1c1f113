"""The output side of a stream, against a callback that runs whenever it likes."""

from types import SimpleNamespace

from stages.audio.convert import Encoding, Format
from stages.audio.device.devices import Device, Side
from stages.audio.device.speaker import Speaker
from stages.audio.device.stream import Way

CUT, WRITTEN = 100, 480


class Port:
    """The callback obeys a flush between two looks at it."""

    written = WRITTEN

    def __init__(self) -> None:
        self.looks = 0

    def flush(self) -> None:
        pass

    @property
    def played(self) -> int:
        return WRITTEN if self._has_obeyed() else CUT

    @property
    def cut(self) -> int | None:
        return CUT if self._has_obeyed() else None

    def _has_obeyed(self) -> bool:
        self.looks += 1
        return self.looks > 1


def test_where_a_flush_cut_is_told_right_whenever_the_device_obeys() -> None:
    device = Device(0, "card", "software", 1, 1, 48_000)
    way = Way(Side.OUTPUT, device, Format(48_000, 1, Encoding.F32), 0.0)
    speaker = Speaker()
    speaker.attach(SimpleNamespace(port=Port()), way)  # type: ignore[arg-type]
    speaker.flush()
    told = next(cut for cut in iter(lambda: speaker.cut, "never") if cut is not None)
    assert told == CUT
