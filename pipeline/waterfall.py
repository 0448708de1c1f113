"""The phases of a turn as bars, one below the other, in whatever width there is."""

from collections.abc import Mapping

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

EXPLAINED = {
    "silence": "first silent window",
    "soft_end": "pause worth an answer",
    "decode_start": "final decode of the speech",
    "transcript": "its words, as token ids",
    "prefill": "words in the LLM's cache",
    "first_id": "first id of the answer",
    "first_words": "words for the first sound",
    "first_sound": "first sound is ready",
    "last_id": "last id of the answer",
    "release": "turn over: may be heard",
    "first_audio": "FIRST AUDIO",
    "play_end": "last sample of the answer",
}
UNSCALED = ("last_id", "play_end")  # they come long after the rest, which is what matters
NUMBERS = "  {:<12} {:>7} {:>8}  "
BAR = range(8, 73)  # characters that are worth it
SPOKEN = 26  # characters of the longest explanation


class Waterfall:
    """Each milestone at its time, as a bar from the one before it.

    Args:
        phases: ms after the end of speech, by milestone, in the order of time.
        speech_end_source: who says where the speech ended.
    """

    def __init__(self, phases: Mapping[str, float], speech_end_source: str) -> None:
        self.phases = phases
        self.source = speech_end_source

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        numbers = len(NUMBERS.format("", "", ""))
        bar = min(options.max_width - numbers - SPOKEN - 1, BAR.stop - 1)
        width = bar if bar in BAR else 0
        explained = options.max_width >= numbers + SPOKEN
        mark = "#" if options.ascii_only else "█"
        last = max((at for name, at in self.phases.items() if name not in UNSCALED), default=0.0)
        yield Text(NUMBERS.format("phase", "at ms", "took ms"), "dim", end="\n")
        yield self._line("speech_end", 0.0, "", "", width, self._source if explained else "")
        before = 0.0
        for name, at in self.phases.items():
            scaled = width and name not in UNSCALED and last > 0
            drawn = _bar(before, at, last, width, mark) if scaled else ""
            took = f"{at - before:.0f}"
            yield self._line(name, at, took, drawn, width, EXPLAINED[name] if explained else "")
            before = at

    @property
    def _source(self) -> str:
        return f"last sound (by {self.source})"

    def _line(self, name: str, at: float, took: str, bar: str, width: int, spoken: str) -> Text:
        is_goal = name == "first_audio"
        numbers = NUMBERS.format(name, f"{at:.0f}", took)
        line = Text(f"> {numbers[2:]}" if is_goal else numbers, no_wrap=True)
        line.append(f"{bar:<{width}}", "green" if is_goal else "cyan")
        line.append(f" {spoken}" if width else spoken, "" if is_goal else "dim")
        if is_goal:
            line.stylize("bold green")
        line.rstrip()
        return line


def _bar(start_ms: float, stop_ms: float, last_ms: float, width: int, mark: str) -> str:
    """Blanks up to the start, then at least one mark, never beyond `width`."""
    start = min(round(max(0.0, start_ms) / last_ms * width), width - 1)
    stop = round(max(0.0, stop_ms) / last_ms * width)
    return " " * start + mark * max(1, min(stop, width) - start)
