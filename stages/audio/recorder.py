"""Both sides of a conversation as one stereo file: left the user, right the answers."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from pipeline.errors import VoxringError
from pipeline.output import output_error
from pipeline.session_name import session_file
from stages.audio.convert import Converter, Format
from stages.audio.microphone import SAMPLE_NS
from stages.audio.playback import SECOND, Span
from stages.audio.tape import LEFT, RIGHT, Tape
from stages.audio.wav_stream import WavStream
from stages.lane import Lane
from stages.messages import CaptionKind
from stages.topology import INPUT_RATE

SETTING = "audio.record"
FLUSH_NS = SECOND  # what a killed program loses, at most
RUN_OVER_NS = SECOND // 10  # a voice that was silent for so long has paused


class Recorder:
    """Records one lane, for whichever edge serves it.

    The file is brought up to date every second. An error of the disk ends the recording, not the
    conversation; the client is told once.

    Args:
        lane: the lane.
        folder: for the file; "": nothing is recorded.
        opened: monotonic ns at which the recording begins.
        jitter_ns: how late sound of the microphone may come without having paused.
    """

    def __init__(self, lane: Lane, folder: str, opened: int, *, jitter_ns: int = 0) -> None:
        self._lane = lane
        self._opened = opened
        self._jitter = jitter_ns // SAMPLE_NS
        self._path = session_file(folder, lane.opened, lane.number, ".wav")
        self._tape = Tape(self._write) if folder else None
        self._file: WavStream | None = None
        self._run: _Run | None = None
        self._due = opened + FLUSH_NS

    def hear(self, samples: NDArray[np.int16], at: int) -> None:
        """Sound of the user has entered the lane.

        Args:
            samples: int16 [n], 16 kHz.
            at: monotonic ns at which the first of them was heard.
        """
        if self._tape is None:
            return
        with self._or_stop():
            position, end = self._frame(at), self._tape.ends[LEFT]
            has_paused = position > end + self._jitter
            self._tape.put(LEFT, position if has_paused else end, samples)

    def play(self, span: Span) -> None:
        """Sound of an answer was played."""
        if self._tape is None:
            return
        with self._or_stop():
            if self._run is None or not self._run.goes_on_with(span):
                self._end_run(self._tape)
                self._run = _Run(span.rate, self._frame(span.at))
            self._tape.put(RIGHT, self._run.position, self._run.feed(span))

    def step(self, now: int) -> None:
        """Bring the file up to date if it is time; after what was due was played."""
        if self._tape is None or now < self._due:
            return
        self._due = now + FLUSH_NS
        with self._or_stop():
            if self._run is not None and now > self._run.until + RUN_OVER_NS:
                self._end_run(self._tape)
            self._tape.flush()

    def close(self) -> None:
        """Write the rest; safe to call twice."""
        if self._tape is not None:
            with self._or_stop():
                self._end_run(self._tape)
                self._tape.flush()
        self._stop()

    def _frame(self, at: int) -> int:
        return (at - self._opened) // SAMPLE_NS

    def _end_run(self, tape: Tape) -> None:
        """The voice has paused: what its resampler still has is the end of it."""
        if self._run is not None:
            tape.put(RIGHT, self._run.position, self._run.finish())
            self._run = None

    def _write(self, first: int, frames: NDArray[np.int16]) -> None:
        if self._file is None:  # not made before an error of it can be told
            resume = self._lane.is_reopened
            self._file = WavStream(self._path, INPUT_RATE, channels=2, resume=resume)
        self._file.write(first, frames)

    def _stop(self) -> None:
        self._tape = self._run = None
        if self._file is not None:
            self._file.close()

    @contextmanager
    def _or_stop(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self._give_up(output_error(self._path, error, SETTING))
        except VoxringError as error:
            self._give_up(error)

    def _give_up(self, error: VoxringError) -> None:
        self._stop()
        self._lane.caption(CaptionKind.ERROR, turn=self._lane.turn, text=str(error))


class _Run:
    """An answer's sound without a break, on its way to the rate of the file.

    Attributes:
        position: frame of the first sample.
        until: monotonic ns at which the last sample so far had sounded.
    """

    def __init__(self, rate: int, position: int) -> None:
        self.position = position
        self.until = 0
        self._rate = rate
        self._converter = Converter(Format(rate))

    def goes_on_with(self, span: Span) -> bool:
        return span.rate == self._rate and abs(span.at - self.until) < SAMPLE_NS

    def feed(self, span: Span) -> NDArray[np.int16]:
        self.until = span.at + len(span.samples) * SECOND // span.rate
        return self._converter.feed(span.samples.astype("<i2", copy=False).tobytes())

    def finish(self) -> NDArray[np.int16]:
        return self._converter.finish()
