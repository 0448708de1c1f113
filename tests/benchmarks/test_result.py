import json
import re
from pathlib import Path

import pytest

from benchmarks.metrics import BENCHMARKS, Benchmark
from benchmarks.result import Result, load_now, make_result
from benchmarks.tables import RESULTS, read_results
from pipeline.errors import OutputError
from tests.benchmarks.results import result

UNITS = re.compile(r"_(us|ms|s|kib|mib|percent|per_s|nats)$")
NAMES_OF_COUNTS = """
    allocations answer_words_wrong_share audio_put_copies audio_read_copies
    backchannel_goes_on_share best_share busy_ratio_p99 busy_share cached_ratio_fifth
    cached_ratio_first commands commands_go_on_share commit_lag_p50_growth committed_before_end
    connections corrections crowd_answered_share crowd_inside crowd_refused crowd_right_share
    crowd_underruns cut_offs cut_probability cuts cuts_called_ends decode_bandwidth_share
    descriptors dropped echo_least_share end_probability ends ends_recognised erle_db error_ours
    error_ratio error_stock failed false_cut_share false_cuts_elsewhere fifth_ratio
    first_divergence_p50 first_ratio first_sound_ratio flat_ratio fuzz_connections fuzz_dead
    fuzz_hurt fuzz_messages fuzz_odd_closes fuzz_untold gap_at_divergence_max gaps greedy_agreement
    heard_exact_share heard_too_late heard_tries heard_within_one_word_share
    heard_within_one_word_tries ids_after_end ids_before invented invented_unsure_share kill_untold
    lanes_late lanes_ratio_p50 lanes_real_time_factor lanes_turns left_descriptors left_lanes
    left_tasks left_threads length_ratio length_ratio_max length_ratio_min lost_samples
    max_sample_difference minutes missed_end_share mpqueue_ratio_p50 mpqueue_ratio_p99 murmurs
    murmurs_go_on_share named_share next_turn_correct_share noise_goes_on_share open_erle_db
    open_self_turns open_unanswered passed_share pause_probability pauses pauses_called_ends
    question_words_wrong_share questions real_answered_share real_knocked real_refused
    real_right_share real_time_factor real_time_factor_growth real_underruns recoveries
    reply_words_p50 restarts revised_share rewritten_share runs same_ids same_share
    scattered_ratio_p50 seam_step_ratio self_holds self_interruptions self_turns sessions
    sessions_reset speech_turns sure_descriptors three_words_more_wrong time_ratio_final
    token_ratio_p50 token_ratio_p99 traces tries tries_gone_on tries_in_a_pause tries_too_late
    turns turns_off unanswered underruns unequal_steps unequal_strict_steps unexplained wer
    wer_delta_points wer_final wer_reference wer_streamed words_more_wrong xruns
"""
COUNTS = frozenset(NAMES_OF_COUNTS.split())


def test_a_result_survives_its_file(tmp_path: Path) -> None:
    path = tmp_path / "new" / "ring.json"
    written = result("ring", token_p50_us=12.5, recoveries=0, token_p99_us=None)
    written.write(path)
    assert Result.read(path) == written


def test_the_file_has_the_agreed_keys() -> None:
    raw = json.loads(result("ring", recoveries=0).json)
    assert {"benchmark", "machine", "versions", "load", "n", "metrics"} <= raw.keys()
    assert all(isinstance(value, int | float | None) for value in raw["metrics"].values())


def test_a_result_of_now_describes_this_machine() -> None:
    made = make_result(
        "ring", before=load_now(), n=1, metrics={"token_p50_us": 1.23456}, settings={}
    )
    assert made.machine["cores"] >= 1
    assert "versions" not in made.machine
    assert made.versions["voxring"]
    assert made.metrics == {"token_p50_us": 1.235}
    assert made.load.keys() == {"before", "after"}


def test_a_place_that_cannot_be_written_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot be written"):
        result("ring").write(tmp_path / "file" / "ring.json")


@pytest.mark.parametrize("benchmark", BENCHMARKS, ids=lambda benchmark: benchmark.name)
def test_every_metric_is_named_with_its_unit(benchmark: Benchmark) -> None:
    for metric in benchmark.metrics:
        name = metric.name.partition(".")[0]
        assert UNITS.search(name) or name in COUNTS


def test_every_committed_figure_is_explained() -> None:
    by_name = {benchmark.name: benchmark for benchmark in BENCHMARKS}
    for committed in read_results(RESULTS).values():
        ordered = by_name[committed.benchmark].ordered(committed.metrics)
        assert sorted(ordered) == sorted(committed.metrics)
