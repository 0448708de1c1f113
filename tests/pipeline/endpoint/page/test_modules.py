"""The page's modules that need no device and no server, run by the browser itself."""

from collections.abc import Iterator

import numpy as np
import pytest

from tests.pipeline.endpoint.page.browsing import NOWHERE, browser, serve_files, sync_api


@pytest.fixture(scope="module")
def modules() -> Iterator[sync_api.Page]:
    """A page from which the product's modules can be imported, without a server."""
    with browser() as launched:
        page = launched.new_page()
        serve_files(page)
        page.goto(f"{NOWHERE}/icon.svg")
        yield page


def call(page: sync_api.Page, module: str, body: str, argument: object = None) -> object:
    """Run a function body in which `m` is the module and `x` the argument."""
    code = f"async (x) => {{ const m = await import('/{module}'); {body} }}"
    return page.evaluate(code, argument)


def sine(frequency: float, rate: int, seconds: float = 0.5) -> np.ndarray:
    return np.sin(2 * np.pi * frequency * np.arange(int(rate * seconds)) / rate)


def resampled(
    page: sync_api.Page, samples: np.ndarray, rates: tuple[int, int], pieces: list[int]
) -> np.ndarray:
    body = """
      const resampler = new m.Resampler(...x.rates);
      const input = Float32Array.from(x.samples), output = [];
      let at = 0, turn = 0;
      while (at < input.length) {
        const size = x.pieces[turn++ % x.pieces.length];
        output.push(...resampler.push(input.slice(at, at + size)));
        at += size;
      }
      output.push(...resampler.end());
      return output;
    """
    argument = {"samples": samples.tolist(), "rates": rates, "pieces": pieces}
    return np.array(call(page, "resampler.js", body, argument))


RATES = [(48_000, 24_000), (44_100, 24_000), (24_000, 48_000), (24_000, 44_100), (16_000, 16_000)]


@pytest.mark.parametrize("rates", RATES)
def test_a_tone_keeps_its_length_its_pitch_its_level_and_its_place(
    modules: sync_api.Page, rates: tuple[int, int]
) -> None:
    given = resampled(modules, sine(1000, rates[0]), rates, [128])
    right = sine(1000, rates[1])
    assert abs(len(given) - len(right)) <= 2
    middle = slice(500, min(len(given), len(right)) - 500)
    assert np.abs(given[middle] - right[middle]).max() < 2e-3


def test_what_the_new_rate_cannot_carry_is_gone(modules: sync_api.Page) -> None:
    """15 kHz would be heard as 9 kHz at 24,000 samples a second."""
    given = resampled(modules, sine(15_000, 48_000), (48_000, 24_000), [128])
    assert np.abs(given[500:-500]).max() < 1e-3


def test_pieces_of_any_size_give_the_samples_of_one(modules: sync_api.Page) -> None:
    sound = np.random.default_rng(1).normal(0, 0.2, 5_000)
    whole = resampled(modules, sound, (44_100, 24_000), [5_000])
    pieces = resampled(modules, sound, (44_100, 24_000), [1, 7, 128, 1000])
    assert np.array_equal(whole, pieces)


def test_samples_survive_the_journey_and_loud_ones_are_clipped(modules: sync_api.Page) -> None:
    body = "return [...m.decode(m.encode(Float32Array.from(x)))]"
    given = call(modules, "pcm.js", body, [0, 0.5, -1, 2, -2, 1 / 32768])
    assert given == [0, 0.5, -1, 32767 / 32768, -1, 1 / 32768]


BUFFER = """
  const buffer = new m.JitterBuffer(1000);  // a sample is a millisecond
  const heard = [];
  const read = (count) => {
    const block = new Float32Array(count);
    buffer.read(block);
    heard.push(...block);
  };
  const sound = (count, value = 1) => new Float32Array(count).fill(value);
"""


def buffered(page: sync_api.Page, body: str) -> dict[str, object]:
    told = "return {heard, played: buffer.played, underruns: buffer.underruns, queued: "
    told += "buffer.queued, target: buffer.targetMs, delay: buffer.delay, done: buffer.isDone};"
    given = call(page, "jitter-buffer.js", BUFFER + body + told)
    assert isinstance(given, dict)
    return given


def test_sound_waits_until_the_buffer_is_worth_playing(modules: sync_api.Page) -> None:
    told = buffered(modules, "buffer.begin(); buffer.push(sound(20)); read(10); read(10);")
    assert told["heard"] == [0] * 20
    assert told["played"] == 0
    told = buffered(modules, "buffer.begin(); buffer.push(sound(40)); read(10);")
    assert told["heard"] == [1] * 10
    assert told["delay"] == 0


def test_a_little_sound_waits_no_longer_than_the_buffer_is_long(modules: sync_api.Page) -> None:
    body = "buffer.begin(); buffer.push(sound(20)); for (let i = 0; i < 6; i++) read(10);"
    told = buffered(modules, body)
    assert told["heard"] == [0] * 40 + [1] * 20
    assert told["delay"] == 40


def test_an_end_is_no_underrun_and_all_is_played(modules: sync_api.Page) -> None:
    body = "buffer.begin(); buffer.push(sound(45)); buffer.end();"
    told = buffered(modules, body + "for (let i = 0; i < 6; i++) read(10);")
    assert told["heard"] == [1] * 45 + [0] * 15
    assert (told["played"], told["underruns"], told["done"]) == (45, 0, True)


def test_missing_sound_is_counted_fades_out_and_makes_the_buffer_larger(
    modules: sync_api.Page,
) -> None:
    told = buffered(
        modules, "buffer.begin(); buffer.push(sound(45)); for (let i = 0; i < 5; i++) read(10);"
    )
    assert told["underruns"] == 1
    assert told["target"] == 70
    assert told["heard"][45:] == [0.75, 0.5, 0.25, 0, 0]
    assert not told["done"]


def test_answers_without_an_underrun_make_it_small_again(modules: sync_api.Page) -> None:
    body = """
      buffer.begin(); buffer.push(sound(40)); read(40); read(10); buffer.end();
      for (let i = 0; i < 9; i++) {
        buffer.begin(); buffer.push(sound(80)); buffer.end(); read(80); read(10);
      }
    """
    told = buffered(modules, body)
    assert told["underruns"] == 1
    assert told["target"] == 40


def test_a_cut_is_silent_within_a_few_milliseconds_and_counts_what_was_heard(
    modules: sync_api.Page,
) -> None:
    body = "buffer.begin(); buffer.push(sound(300)); read(50); buffer.flush(); read(10);"
    told = buffered(modules, body)
    assert told["heard"][50:] == [0.75, 0.5, 0.25, 0, 0, 0, 0, 0, 0, 0]
    assert (told["played"], told["queued"], told["done"]) == (50, 0, True)


def test_a_pause_is_silent_and_goes_on_where_it_was(modules: sync_api.Page) -> None:
    body = """
      buffer.begin(); buffer.push(Float32Array.from({length: 100}, (_, i) => i)); read(50);
      buffer.pause(); read(20); buffer.push(sound(10)); buffer.resume(); read(10);
    """
    told = buffered(modules, body)
    assert told["heard"][54:70] == [0] * 16
    assert told["heard"][70:80] == list(range(50, 60))
    assert (told["underruns"], told["played"]) == (0, 60)


def test_what_is_cut_while_it_is_paused_stays_silent(modules: sync_api.Page) -> None:
    body = """
      buffer.begin(); buffer.push(sound(100)); read(50); buffer.pause(); read(10);
      buffer.flush(); read(20);
    """
    told = buffered(modules, body)
    assert told["heard"][54:] == [0] * 26
    assert told["done"]


MILESTONES = {
    "silence": 60,
    "decode_start": 62,
    "soft_end": 92,
    "transcript": 169,
    "prefill": 209,
    "first_id": 210,
    "first_words": 240,
    "release": 252,
    "first_sound": 295,
    "first_audio": 304,
    "last_id": 657,
    "play_end": 8122,
}


def test_phases_follow_each_other_and_add_up(modules: sync_api.Page) -> None:
    parts = call(modules, "latency.js", "return m.segments(x, 43)", MILESTONES)
    named = {part["key"]: part["ms"] for part in parts}
    assert named == {
        "silence": 60,
        "words": 109,
        "answer": 71,
        "release": 12,
        "voice": 43,
        "sent": 9,
        "browser": 43,
    }
    assert call(modules, "latency.js", "return m.total(x)", parts) == 347


def test_the_phases_are_also_a_sentence(modules: sync_api.Page) -> None:
    told = call(modules, "latency.js", "return m.sentence(m.segments(x, 43))", MILESTONES)
    assert told == (
        "First sound after 347 milliseconds: pause noticed 60, words recognised 109, "
        "answer begun 71, sure that you are done 12, voice ready 43, sent 9, "
        "played by the browser 43."
    )


def test_a_late_release_comes_late_in_the_bar(modules: sync_api.Page) -> None:
    milestones = {**MILESTONES, "release": 900, "first_audio": 905}
    parts = call(modules, "latency.js", "return m.segments(x, 0)", milestones)
    assert [part["key"] for part in parts] == [
        "silence",
        "words",
        "answer",
        "voice",
        "release",
        "sent",
    ]
    assert sum(part["ms"] for part in parts) == 905


def test_a_stage_that_tells_a_moment_late_keeps_its_part(modules: sync_api.Page) -> None:
    milestones = {**MILESTONES, "first_sound": 304.2}
    parts = call(modules, "latency.js", "return m.segments(x, 0)", milestones)
    named = {part["key"]: part["ms"] for part in parts}
    assert named["voice"] == 304 - 252
    assert sum(named.values()) == 304


@pytest.mark.parametrize("milestones", [{}, {"silence": 60}, {"release": -40, "first_audio": -20}])
def test_a_turn_without_a_first_sound_after_its_end_has_no_bar(
    modules: sync_api.Page, milestones: dict[str, float]
) -> None:
    assert call(modules, "latency.js", "return m.segments(x, 10)", milestones) == []


def test_words_appear_with_the_samples_that_voice_them(modules: sync_api.Page) -> None:
    body = """
      const captions = new m.Captions();
      captions.mark(400, "Plants");
      captions.mark(700, "Plants need");
      return [0, 399, 400, 699, 5000].map((samples) => captions.heard(samples));
    """
    given = call(modules, "captions.js", body)
    assert given == ["", "", "Plants", "Plants", "Plants need"]


def test_waits_double_to_a_limit_and_start_anew_after_success(modules: sync_api.Page) -> None:
    body = """
      const backoff = new m.Backoff(() => 0.5);
      const waits = Array.from({length: 7}, () => backoff.next());
      backoff.reset();
      return [...waits, backoff.next()];
    """
    assert call(modules, "backoff.js", body) == [0.5, 1, 2, 4, 8, 15, 15, 0.5]


def test_a_page_that_may_have_no_microphone_says_how_to_open_it(modules: sync_api.Page) -> None:
    assert modules.context.browser
    page = modules.context.browser.new_page()
    serve_files(page, "http://voxring.test")
    page.goto("http://voxring.test/")
    page.get_by_role("button", name="Start", exact=True).click()
    told = page.locator("#notice-text")
    told.wait_for()
    assert "only to pages from https or localhost" in told.inner_text()
    page.close()


TURN = ["speech_started 1", "speech_stopped 1", "sound_started 1", "turn_ended 1"]


@pytest.mark.parametrize(
    ("told", "right"),
    [
        (TURN, ["hearing", "thinking", "speaking", "listening"]),
        (
            ["speech_started 1", "sound_started 1", "speech_stopped 1"],
            ["hearing", *["speaking"] * 2],
        ),
        ([*TURN[:3], "speech_started 2", "turn_ended 1"], [*["hearing"] * 2]),
        ([*TURN[:3], "speech_started 2", "sound_resumed 1"], ["hearing", "speaking"]),
        (["speech_started 1", "turn_ended 1"], ["hearing", "listening"]),
    ],
    ids=["a turn", "an early answer", "interrupted", "not interrupted", "no speech"],
)
def test_the_page_says_what_goes_on(
    modules: sync_api.Page, told: list[str], right: list[str]
) -> None:
    events = [{"type": one.split()[0], "turn": int(one.split()[1])} for one in told]
    body = """
      let activity = m.LISTENING;
      return x.map((event) => (activity = m.nextActivity(activity, event)).name);
    """
    given = call(modules, "activity.js", body, events)
    assert isinstance(given, list)
    assert given[-len(right) :] == right
