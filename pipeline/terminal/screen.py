"""What is going on, in the few lines at the bottom of a terminal: pure."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.segment import Segment
from rich.text import Text

from pipeline.floor import Floor
from pipeline.terminal.conversation import Running
from pipeline.terminal.meter import bar
from pipeline.terminal.paint import labelled

METER = 20  # characters
SPOKEN = {
    Floor.OPEN: "listening",
    Floor.USER: "you speak",
    Floor.THINKING: "thinking",
    Floor.ANSWER: "voxring speaks",
    Floor.HELD: "voxring waits for what you say",
}
STYLES = {Floor.USER: "cyan", Floor.HELD: "cyan", Floor.ANSWER: "green", Floor.THINKING: "yellow"}
KEYS = "m mute · space push to talk · i interrupt · q quit"
MUTED_KEYS = "m microphone on · space push to talk · i interrupt · q quit"
TOGGLED_KEYS = "space done · m leave the microphone on · q quit"
HELD_KEYS = "let go when done · q quit"


@dataclass(frozen=True, slots=True)
class Moment:
    """A conversation at an instant.

    Attributes:
        level: of the microphone, dBFS.
        live: turns that go on.
        is_muted: nothing of the microphone is heard.
        is_pushed, is_held: push to talk; because the key is held down.
        has_keys: somebody can press some.
    """

    floor: Floor = Floor.OPEN
    level: float = -100.0
    live: tuple[Running, ...] = ()
    is_muted: bool = False
    is_pushed: bool = False
    is_held: bool = False
    has_keys: bool = True

    @property
    def seen(self) -> "Moment":
        """To the dB: moments of which this is equal look the same."""
        return replace(self, level=float(round(self.level)))


class Screen:
    """A moment, at most as high as the terminal: of what does not fit the beginning is left out.

    Args:
        moment: to be shown.
    """

    def __init__(self, moment: Moment) -> None:
        self.moment = moment

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        moment = self.moment
        rows = _talk(moment.live)
        rows.append(_status(moment, ascii_only=options.ascii_only))
        if moment.has_keys:
            rows.append(Text(_keys(moment), "dim", no_wrap=True, overflow="ellipsis"))
        height = max(1, console.size.height - 1)
        whole = console.render_lines(Group(*rows), options.update(height=None), pad=False)
        for line in whole[-height:]:
            yield from line
            yield Segment.line()


def _talk(live: Sequence[Running]) -> list[RenderableType]:
    """What is said, and room below it."""
    rows: list[RenderableType] = []
    for turn in live:
        if turn.user:
            rows.append(labelled("you", Text(turn.user, "" if turn.final else "italic dim")))
        if turn.answer:
            rows.append(labelled("voxring", Text(turn.answer)))
    return [*rows, Text()] if rows else rows


def _status(moment: Moment, *, ascii_only: bool) -> Text:
    """The meter, and who speaks."""
    level = "off    " if moment.is_muted else f"{moment.level:.0f} dB"
    meter = bar(-100.0 if moment.is_muted else moment.level, METER, ascii_only=ascii_only)
    text = Text(no_wrap=True, overflow="ellipsis")
    text.append(meter, "red" if moment.level > -3 else "cyan")
    text.append(f" {level:>7}  ", "dim")
    if moment.is_muted and moment.floor is Floor.OPEN:
        return text.append("microphone off", "red")
    return text.append(SPOKEN[moment.floor], STYLES.get(moment.floor, ""))


def _keys(moment: Moment) -> str:
    if moment.is_held:
        return HELD_KEYS
    if moment.is_pushed:
        return TOGGLED_KEYS
    return MUTED_KEYS if moment.is_muted else KEYS
