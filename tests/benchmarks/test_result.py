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
COUNTS = {
    "connections", "dropped", "real_right_share", "real_answered_share", "real_underruns",
    "real_refused", "sessions", "sessions_reset", "left_descriptors", "left_lanes", "left_threads",
    "left_tasks", "fuzz_messages", "fuzz_connections", "fuzz_untold", "fuzz_odd_closes",
    "fuzz_hurt", "kill_untold",
    "mpqueue_ratio_p50", "mpqueue_ratio_p99", "busy_ratio_p99", "unanswered",
    "talk_descriptors", "talk_sure_descriptors", "speech_descriptors", "speech_sure_descriptors",
    "speech_turns", "failed", "restarts",
    "token_ratio_p50", "token_ratio_p99", "lanes_ratio_p50", "scattered_ratio_p50",
    "audio_put_copies", "audio_read_copies", "recoveries", "reply_words_p50",
    "wer", "wer_final", "wer_reference", "wer_streamed", "words_more_wrong",
    "three_words_more_wrong", "time_ratio_final", "committed_before_end", "revised_share",
    "rewritten_share", "ids_after_end", "busy_share", "minutes", "real_time_factor",
    "real_time_factor_growth", "commit_lag_p50_growth",
    "murmurs_go_on_share", "invented", "invented_unsure_share",
    "commands", "commands_go_on_share", "turns", "cut_offs", "underruns",
    "first_ratio", "fifth_ratio",
    "cached_ratio_first", "cached_ratio_fifth", "same_ids", "unexplained", "same_share",
    "ids_before", "best_share", "flat_ratio", "decode_bandwidth_share", "unequal_steps",
    "unequal_strict_steps", "traces", "error_ratio", "error_ours", "error_stock",
    "greedy_agreement", "first_divergence_p50", "gap_at_divergence_max", "allocations",
    "lanes_turns", "lanes_real_time_factor", "lanes_late",
    "passed_share", "runs", "named_share",
    "ends_recognised", "pauses_called_ends", "cuts_called_ends", "ends", "pauses", "cuts",
    "end_probability", "pause_probability", "cut_probability",
    "first_sound_ratio", "max_sample_difference", "length_ratio",
    "length_ratio_min", "length_ratio_max", "wer_delta_points", "seam_step_ratio",
    "turns_off", "next_turn_correct_share", "tries", "tries_too_late", "tries_in_a_pause",
    "tries_gone_on", "heard_within_one_word_share", "heard_within_one_word_tries",
    "heard_exact_share", "heard_tries", "heard_too_late", "backchannel_goes_on_share",
    "noise_goes_on_share", "murmurs", "false_cut_share", "missed_end_share",
    "false_cuts_elsewhere", "self_interruptions", "self_turns",
    "question_words_wrong_share", "answer_words_wrong_share", "xruns", "lost_samples", "gaps",
    "corrections", "questions", "self_holds", "erle_db",
}  # fmt: skip


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
