"""The report as a file: what it holds, whatever the run was like."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest

from pipeline.lab.peaks import pack
from pipeline.lab.report.distribution import paths, spread
from pipeline.lab.report.page import PICTURES, choose, render, tiles
from pipeline.lab.report.scale import percentile, round_step, scale_of
from pipeline.lab.report.waterfall import close_up
from pipeline.lab.report.waves import curve, waveform
from pipeline.lab.run import About, Check, Comparison, Conversation, Mark, Run, Turn, Usage, Wave
from tests.pipeline.lab.making import PHASES, run_of, turn

VOID = {"meta", "link", "path", "br"}
LOUD = pack(np.full(600, 200, np.uint8))


class Reader(HTMLParser):
    """Checks that tags close in order, and gathers what matters."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.tags.add(tag)
        self.ids += [given["id"] or ""] if "id" in given else []
        self.links += [value or "" for name, value in attrs if name in ("href", "src")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag, self.getpos()


def read(run: Run) -> tuple[str, Reader]:
    html = render(run)
    reader = Reader()
    reader.feed(html)
    assert reader.open == [], "every tag is closed"
    assert len(set(reader.ids)) == len(reader.ids)
    return html, reader


def talks(count: int, **more: object) -> Run:
    """A run of so many conversations of one turn, with sound."""
    wave = Wave(start_s=0.5, seconds=2.0, user=LOUD, voice=LOUD)
    turns = [
        turn(
            "question",
            304.0 + n,
            n + 1,
            conversation=n,
            speech_start_s=0.5,
            speech_end_s=1.5,
            wave=wave.model_dump(),
            **more,
        )
        for n in range(count)
    ]
    whole = Wave(seconds=6.0, user=LOUD, voice=LOUD)
    marks = [Mark(at_s=1.8, event="first_audio"), Mark(at_s=1.2, event="resume")]
    conversations = [
        Conversation(name="question", repeat=n + 1, warm=True, seconds=6.0, wave=whole, marks=marks)
        for n in range(count)
    ]
    at = [0.5 * n for n in range(20)]
    usage = Usage(
        at_s=at,
        cpu_percent={"asr": [None, *[5.0 * n for n in range(19)]], "voxring": [1.0] * 20},
        memory_mib={"asr": [None, *[200.0] * 19], "voxring": [80.0] * 20},
    )
    run = run_of(*turns)
    return run.model_copy(update={"conversations": conversations, "usage": usage})


@pytest.mark.parametrize(
    "run",
    [
        run_of(),
        run_of(turn()),
        run_of(turn(ms=None, outcome="failed", phases={}, errors=["it broke"])),
        run_of(turn(phases={"silence": -300.0, "first_audio": -200.0}, cut_off=True, ms=None)),
        talks(1),
        talks(9),
    ],
)
def test_every_run_makes_a_page_that_needs_nothing_else(run: Run) -> None:
    html, reader = read(run)
    assert "script" not in reader.tags
    assert all(link.startswith(("#", "data:")) for link in reader.links), "no network"
    assert "url(" not in html
    assert "@import" not in html
    anchors = {link[1:] for link in reader.links if link.startswith("#")}
    assert anchors <= set(reader.ids), "every link leads somewhere"


@pytest.mark.parametrize(
    "hit",
    [
        {"first_audio_ms": None, "underruns_ms": [80.0]},
        {"false_cut_offs": 1},
        {"first_audio_ms": None, "phases": {}, "outcome": "no speech"},
    ],
)
def test_the_turn_that_missed_is_drawn_and_opened(hit: dict[str, object]) -> None:
    """One without a first audio that counts was taken for the fastest."""
    run = talks(3 * PICTURES)
    number = 2 * PICTURES  # neither the first nor the slowest
    turns = list(run.turns)
    turns[number] = turns[number].model_copy(update=hit)
    missed = Check(key=turns[number].name, kind="within_ms", warm=True, passed=False, text="")
    run = run.model_copy(update={"turns": turns, "checks": [missed]})
    assert {scene.index: scene.opened for scene in choose(run)}.get(number)


def test_a_close_up_reaches_as_far_as_the_turn_took() -> None:
    late = turn(ms=12_000.0, speech_end_s=1.5, wave=Wave(start_s=1.0, seconds=13.0).model_dump())
    plot = close_up(late)
    assert plot
    at = {guide.kind: guide.at for guide in plot.guides}
    assert at["speech_end"] < at["first_audio"] < 100


def test_what_was_said_is_text_and_no_markup() -> None:
    evil = "<script>alert(1)</script>"
    html, reader = read(run_of(turn(reply=evil, heard=evil, transcript=evil, said=evil)))
    assert "script" not in reader.tags
    assert "&lt;script&gt;" in html


def test_a_verdict_stands_first_with_its_reasons() -> None:
    missed = Check(key="q", kind="within_ms", warm=True, passed=False, text="too late", phase="x")
    about = About(name="my suite", config="laptop", repeats=2)
    html, _ = read(run_of(turn()).model_copy(update={"checks": [missed], "suite": about}))
    assert "✗ 1 missed" in html
    assert "<li>q: within_ms: too late</li>" in html
    html, _ = read(
        run_of(turn()).model_copy(update={"checks": [missed.model_copy(update={"passed": True})]})
    )
    assert "✓ passed, 1 checks" in html


@pytest.mark.parametrize("judged", [True, False])
def test_nothing_is_called_as_fast_as_it_was_without_a_verdict(judged: bool) -> None:
    told = Comparison(key="q", metric="first_audio_ms", pairs=10 if judged else 2)
    if judged:
        figures = {"ratio": 1.0, "lower": 0.9, "upper": 1.1, "delta_ms": 0.0}
        told = told.model_copy(update=figures)
    html, _ = read(run_of(turn()).model_copy(update={"comparisons": [told]}))
    assert ("nothing is slower than in the baseline" in html) is judged
    assert ("1 of 1 comparisons with the baseline have no verdict" in html) is not judged


def test_a_run_of_any_length_makes_a_page_of_bounded_size() -> None:
    long = talks(300)
    html, _ = read(long)
    assert len(html) < 1_100_000
    assert html.count('<details class="talk"') == PICTURES
    assert f"{300 - PICTURES} more are in the figures only" in html
    shown = [scene.index for scene in choose(long)]
    assert 0 in shown, "the first"
    assert 299 in shown, "and the slowest"


def test_long_conversations_are_bounded_by_their_turns() -> None:
    run = talks(20)
    many = [each.model_copy(update={"repeat": n}) for each in run.turns for n in range(10)]
    html, _ = read(run.model_copy(update={"turns": many}))
    assert html.count('<details class="talk"') == 4
    assert len(html) < 1_200_000


def test_faults_are_drawn_whatever_else_is() -> None:
    run = talks(60)
    bad = run.turns[30].model_copy(update={"errors": ["stage tts was killed"]})
    run = run.model_copy(update={"turns": [*run.turns[:30], bad, *run.turns[31:]]})
    scene = next(scene for scene in choose(run) if scene.index == 30)
    assert scene.bad
    assert scene.opened


def test_the_slowest_of_what_was_missed_is_open() -> None:
    run = talks(6)
    assert [scene.index for scene in choose(run) if scene.opened] == [0], (
        "the first, if all is well"
    )
    missed = Check(key="question", kind="within_ms", warm=True, passed=False, text="late")
    late = run.model_copy(update={"checks": [missed]})
    assert [scene.index for scene in choose(late) if scene.opened] == [3, 4, 5]


def test_what_does_not_count_is_in_no_figure() -> None:
    cut = turn(ms=None, cut_off=True, phases=PHASES | {"release": -5.0, "first_audio": -2.0})
    run = run_of(turn(ms=300), cut)
    figures = {name: figure for name, figure, _ in tiles(run)}
    assert figures["first audio p50"] == "300"
    assert figures["false cut-offs"] == "1"
    (row,) = spread(run).rows
    assert [ms for _, ms in row.dots] == [300]
    assert (row.n, row.total) == (1, 2)
    ((path,), _) = paths(run)
    assert path.total == pytest.approx(300)


def test_waveforms_are_mirrored_and_bounded() -> None:
    path = waveform(pack(np.array([0, 255, 64], np.uint8)))
    points = [tuple(map(float, p.split())) for p in re.split("[MLZ]", path) if p]
    assert len(points) == 6
    assert min(y for _, y in points) == pytest.approx(2)
    assert max(y for _, y in points) == pytest.approx(98)
    assert waveform(pack(np.zeros(5, np.uint8))) == waveform("") == waveform("?") == ""


def test_a_curve_breaks_where_nothing_is_known() -> None:
    assert curve([0, 1, 2, 3], [1, 2, None, 4], 3, 4).count("M") == 2
    assert curve([], [], 0, 0) == ""


@pytest.mark.parametrize(
    ("least", "step"), [(0.3, 0.5), (1, 1), (1.01, 2), (30, 50), (90, 100), (0, 1)]
)
def test_round_steps(least: float, step: float) -> None:
    assert round_step(least) == pytest.approx(step)


def test_axes_hold_every_value_and_end_at_round_ones() -> None:
    scale = scale_of([221, 233, 304])
    assert (scale.low, scale.high) == (0, 400)
    assert scale_of([]).ticks()[0].label == "0"
    assert scale_of([-120, 50]).low <= -120
    assert [tick.label for tick in scale_of([0, 1400]).ticks(unit=" ms")][-1] == "1,500 ms"


def test_percentiles_are_those_of_numpy() -> None:
    values = [5.0, 1.0, 4.0, 9.0]
    for percent in (0, 50, 95, 99, 100):
        assert percentile(values, percent) == pytest.approx(np.percentile(values, percent))


def test_a_close_up_shows_work_that_nobody_waited_for_too() -> None:
    plot = close_up(Turn.model_validate(turn().model_dump()))
    assert plot
    assert [bar.ends for bar in plot.bars] == [
        "silence", "soft_end", "transcript", "prefill", "first_id", "first_words", "first_sound",
        "release", "first_audio",
    ]  # fmt: skip
    release = next(bar for bar in plot.bars if bar.ends == "release")
    assert release.ms == pytest.approx(160), "from the soft end"
    assert close_up(turn(phases={})) is None
