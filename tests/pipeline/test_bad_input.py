"""What a person can do wrong, through the real command line: one clear line, an exit code."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import soundfile

from pipeline import models
from pipeline.config import Config
from pipeline.prepare import references
from stages.audio.clip import load_clip
from stages.audio.convert import resample
from tests.conftest import RECORDINGS
from tests.pipeline.cli_running import (
    HEARING,
    QUESTION,
    SCRIPTED,
    TINY,
    Finished,
    Started,
    command,
    environment,
    noise,
    silence,
    start,
    voxring,
)
from tests.pipeline.running import tone

WHISPER = "whisper-tiny.en"
SPOKEN = "What do plants need to grow?"


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one good clip and many bad things."""
    folder = tmp_path_factory.mktemp("desk")
    shutil.copy(QUESTION, folder / "good.wav")
    whole = QUESTION.read_bytes()
    (folder / "cut.wav").write_bytes(whole[: len(whole) * 3 // 5])
    (folder / "folder").mkdir()
    (folder / "text.wav").write_text("this is no sound")
    (folder / "zero-bytes.wav").touch()
    soundfile.write(folder / "zero-samples.wav", [], 16_000)
    silence(folder / "silence.wav", 10.0)
    noise(folder / "white.wav", 3.0)
    (folder / "file").touch()
    (folder / "broken.toml").write_text("[llm\n")
    (folder / "unknown.toml").write_text("[llm]\nmax_new_token = 4\n")
    (folder / "latin.toml").write_bytes(b'[llm]\nsystem = "\xe9"\n')
    return folder


CLIP_MISTAKES = {
    "a missing file": ("nope.wav", ["nope.wav does not exist", "Check the name"]),
    "a folder": ("folder", ["folder is a folder, not a sound file", "Name a clip"]),
    "not audio": ("text.wav", ["text.wav is not sound that can be read", "Give WAV, FLAC, MP3"]),
    "no bytes": ("zero-bytes.wav", ["zero-bytes.wav is empty (0 bytes)", "Record it again"]),
    "no samples": ("zero-samples.wav", ["zero-samples.wav has no samples", "Record it again"]),
}
ASKED_WRONG = {
    "no clip": ([], ["Missing argument 'CLIP'", "Try: voxring replay --help"]),
    "repeat 0": (["good.wav", "--repeat", "0"], ["'--repeat'", "equal to 1", "replay --help"]),
    "no such option": (["good.wav", "--loud"], ["No such option: --loud", "replay --help"]),
    "no such config": (["good.wav", "--config", "no.toml"], ["no.toml", "laptop, scripted"]),
    "config is a folder": (["good.wav", "--config", "folder"], ["folder cannot be read", "TOML"]),
    "broken TOML": (["good.wav", "--config", "broken.toml"], ["broken.toml is not TOML", "line 1"]),
    "TOML in Latin-1": (["good.wav", "--config", "latin.toml"], ["latin.toml is not TOML"]),
    "unknown key": (
        ["good.wav", "--config", "unknown.toml"],
        ["unknown.toml: unknown key llm.max_new_token", "Did you mean llm.max_new_tokens?"],
    ),
    "wrong type": (
        ["good.wav", "--set", "llm.max_new_tokens=many"],
        ["llm.max_new_tokens is 'many'", "valid integer", "`voxring config`"],
    ),
    "a table's name": (["good.wav", "--set", "llm=3"], ["llm is 3", "a table of keys"]),
    "--set without =": (["good.wav", "--set", "llm"], ["--set takes section.key=value, not 'llm'"]),
    "--set of an unknown key": (["good.wav", "--set", "lm.seed=1"], ["unknown key lm", "llm?"]),
    "unknown bundle": (
        ["good.wav", "--set", "asr.model=bundle:whisper-tiny"],
        ["asr.model: no model 'bundle:whisper-tiny'", f"Did you mean 'bundle:{WHISPER}'?"],
    ),
    "no such model file": (
        ["good.wav", "--set", "tts.model=/no/voice.onnx"],
        ["tts.model: no model '/no/voice.onnx'", "Known bundles:"],
    ),
    "out is a file": (["good.wav", "--out", "file"], ["file cannot be written", "with --out"]),
    "out is under a file": (
        ["good.wav", "--out", "file/answers"],
        ["file/answers cannot be written: Not a directory", "Name another place with --out"],
    ),
    "out takes no files": (["good.wav", "--out", "/proc/self"], ["/proc/self cannot be written"]),
    "json into no folder": (
        ["good.wav", "--json", "no/result.json"],
        [
            "no/result.json cannot be written: No such file or directory",
            "Name another place with --json",
        ],
    ),
    "json is a folder": (["good.wav", "--json", "folder"], ["folder cannot be written"]),
}


@pytest.fixture(scope="module")
def replays(desk: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Started]]:
    """Programs with scripted stages that play while the quick tests run, and at the same time."""
    (desk / "old").mkdir()
    (desk / "old" / "silence-1.wav").write_text("an answer of an earlier run")
    full = tmp_path_factory.mktemp("full")
    for name in ("one", "two"):
        tone(full / f"{name}.wav", 0.5)
    room_for_one = "size=60k"  # an answer takes 38 kB
    started = {
        "silence": start(
            *("replay", "silence.wav", *SCRIPTED, "--json", "silence.json", "--out", "old"),
            cwd=desk,
        ),
        "cut": start("replay", "cut.wav", *SCRIPTED, "--set", TINY, "--json", "c.json", cwd=desk),
        "full": on_disk(
            full, room_for_one, "replay", "one.wav", "two.wav", *SCRIPTED, "--out", "disk"
        ),
    }
    for name in ("first", "second"):
        asr = f'asr.options={{lines = ["I am the {name}."]}}'
        results = ("--out", name, "--json", f"{name}.json")
        started[name] = start(
            "replay", "good.wav", *SCRIPTED, "--set", asr, "--set", TINY, *results, cwd=desk
        )
    with ExitStack() as stack:
        for each in started.values():
            stack.enter_context(each)
        yield started


@pytest.mark.parametrize(("clip", "parts"), CLIP_MISTAKES.values(), ids=CLIP_MISTAKES)
def test_a_bad_clip_is_refused(clip: str, parts: list[str], desk: Path) -> None:
    """Also behind a good one: nothing is played before all are known to be good."""
    refused(voxring("replay", "good.wav", clip, cwd=desk), parts)


@pytest.mark.usefixtures("replays")
@pytest.mark.parametrize(("arguments", "parts"), ASKED_WRONG.values(), ids=ASKED_WRONG)
def test_a_mistake_is_told_before_anything_starts(
    arguments: list[str], parts: list[str], desk: Path
) -> None:
    refused(voxring("replay", *arguments, cwd=desk), parts)


def test_an_answer_never_replaces_a_question(desk: Path) -> None:
    shutil.copy(desk / "good.wav", desk / "good-1.wav")
    finished = voxring("replay", "good.wav", "good-1.wav", "--out", ".", cwd=desk)
    refused(finished, ["an answer would replace the clip good-1.wav", "Choose another --out"])


@pytest.mark.parametrize("action", ["fetch", "verify"])
def test_an_unknown_model_is_named_before_anything_is_done(action: str, desk: Path) -> None:
    finished = voxring("models", action, WHISPER, "wisper-base", cwd=desk)
    refused(finished, ["no model 'wisper-base'", "Did you mean 'bundle:whisper-base'?"])


def test_a_folder_without_permission(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write anywhere; the read-only disk stands for it")
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    finished = voxring("replay", str(QUESTION), "--out", "locked", cwd=tmp_path)
    refused(finished, ["locked cannot be written: Permission denied", "Name another place"])


def test_a_read_only_disk(tmp_path: Path) -> None:
    with on_disk(tmp_path, "ro", "replay", str(QUESTION), "--out", "disk/answers") as started:
        finished = started.finish()
    refused(finished, ["disk/answers cannot be written: Read-only file system"])


# Replays with scripted stages, which have run meanwhile.


def test_two_instances_at_once_both_answer(replays: dict[str, Started], desk: Path) -> None:
    for name in ("first", "second"):
        finished = replays[name].finish()
        assert finished.code == 0, finished.err
        (turn,) = turns(desk / f"{name}.json")
        assert (turn["outcome"], turn["transcript"]) == ("answered", f"I am the {name}.")
        samples, _ = soundfile.read(desk / name / "good-1.wav")
        assert samples.any()


def test_silence_is_no_speech(replays: dict[str, Started], desk: Path) -> None:
    finished = replays["silence"].finish()
    assert finished.code == 0, finished.err
    (turn,) = turns(desk / "silence.json")
    no_speech(turn)
    assert turn["wav"] is None, "what lies there is of an earlier run"
    assert "no speech (nothing that was heard had words in it)" in finished.out


def test_a_truncated_clip_is_played_as_far_as_it_goes(
    replays: dict[str, Started], desk: Path
) -> None:
    finished = replays["cut"].finish()
    assert finished.code == 0, finished.err
    (turn,) = turns(desk / "c.json")
    assert turn["outcome"] == "answered"
    assert "header says 34560 frames (2.16 s), it has 20727 (1.30 s)" in turn["note"]
    assert "the file is cut off" in finished.out


def test_a_full_disk_is_told_and_harms_no_other_turn(replays: dict[str, Started]) -> None:
    started = replays["full"]
    finished = started.finish()
    assert finished.code == 1, finished.err
    one, two = finished.out.split("two.wav · ")
    assert "one.wav · answered" in one
    assert "written disk/one-1.wav" in one
    assert two.startswith("answered")
    error = " ".join(two.split())
    assert "two-1.wav cannot be written: No space left on device. Free some space" in error
    assert "written" not in error.replace("be written", "")
    assert "Traceback" not in finished.err
    kept = started.cwd / "kept"
    assert [file.name for file in kept.iterdir()] == ["one-1.wav"]
    samples, rate = soundfile.read(kept / "one-1.wav")
    assert samples.size / rate > 1.0


# With the models that hear.


@pytest.fixture(scope="module")
def heard(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """The question in several formats, and what is no question: turns by clip.

    Two replays at the same time: most of it is real-time sound.
    """
    folder = tmp_path_factory.mktemp("formats")
    clip = load_clip(QUESTION)
    telephone = resample(clip.samples, clip.rate, 8_000)
    studio = resample(clip.samples, clip.rate, 48_000)[:, None].repeat(2, axis=1)
    soundfile.write(folder / "16k.wav", clip.samples, clip.rate, subtype="PCM_16")
    soundfile.write(folder / "mulaw.wav", telephone, 8_000, subtype="ULAW")
    soundfile.write(folder / "stereo.wav", studio, 48_000, subtype="PCM_16")
    soundfile.write(folder / "24bit.wav", clip.samples, clip.rate, subtype="PCM_24")
    silence(folder / "silence.wav", 2.0)
    noise(folder / "white.wav", 2.0)
    clips = {
        "speech.json": ["16k.wav", "mulaw.wav", "stereo.wav", "24bit.wav"],
        "noise.json": ["silence.wav", "white.wav"],
    }
    if RECORDINGS.is_dir():
        clips["noise.json"].append(str(RECORDINGS / "noise.wav"))
    replays = [
        start("replay", *some, *HEARING, "--json", name, cwd=folder) for name, some in clips.items()
    ]
    with ExitStack() as stack:
        for replay in replays:
            stack.enter_context(replay)
        for replay in replays:
            finished = replay.finish()
            assert finished.code == 0, finished.err
    return {turn["clip"]: turn for name in clips for turn in turns(folder / name)}


@pytest.mark.models
@pytest.mark.timeout(200)
@pytest.mark.parametrize("clip", ["16k.wav", "mulaw.wav", "stereo.wav", "24bit.wav"])
def test_every_format_of_a_question_is_heard_alike(
    clip: str, heard: dict[str, dict[str, Any]]
) -> None:
    """pipecat-ai/pipecat#3844 and #5114: telephony at twice its speed, stereo at half."""
    assert (heard[clip]["transcript"], heard[clip]["outcome"]) == (SPOKEN, "answered")


@pytest.mark.models
@pytest.mark.timeout(200)
@pytest.mark.parametrize("clip", ["silence.wav", "white.wav", "noise.wav"])
def test_silence_and_noise_are_no_speech(clip: str, heard: dict[str, dict[str, Any]]) -> None:
    """SYSTRAN/faster-whisper#1127: Whisper invents text for them, or crashes."""
    if clip not in heard:
        pytest.skip("needs the recordings folder beside the project")
    no_speech(heard[clip])


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model cache whose Whisper is a copy, to be damaged."""
    root = tmp_path_factory.mktemp("cache")
    (root / "bundles").mkdir()
    for reference in references(Config()).values():
        folder = models.resolve(reference)
        if folder.name == WHISPER:
            shutil.copytree(folder, root / "bundles" / folder.name)
        else:
            (root / "bundles" / folder.name).symlink_to(folder)
    return root


@pytest.mark.models
@pytest.mark.parametrize("keeps_time", [False, True])
def test_a_damaged_model_file_is_named_with_its_remedy(
    keeps_time: bool, cache: Path, desk: Path
) -> None:
    """A start sees what changes a file's time; what does not is for `verify` (docs/models.md)."""
    file = cache / "bundles" / WHISPER / "model.bin"
    before, status = file.read_bytes(), file.stat()
    try:
        damaged = bytearray(before)
        damaged[len(damaged) // 2] ^= 1
        file.write_bytes(damaged)
        if keeps_time:
            os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
        asked = ("models", "verify", WHISPER) if keeps_time else ("replay", "good.wav", *HEARING)
        finished = voxring(*asked, cwd=desk, VOXRING_CACHE=str(cache))
    finally:
        file.write_bytes(before)
    assert finished.code == 1
    complaint = finished.complaint
    assert f"{WHISPER}/model.bin has a wrong checksum: SHA-256 is " in complaint
    expected = next(f for b in models.catalogue() for f in b.files if f.name == "model.bin")
    assert f"expected {expected.sha256}" in complaint
    assert f"Run: voxring models fetch {WHISPER} --force" in complaint


def refused(finished: Finished, parts: list[str]) -> None:
    """A user's mistake: told in one line, nothing else done."""
    assert finished.code == 2, finished.err
    complaint = finished.complaint
    assert finished.err.splitlines() == [complaint], "nothing else is said"
    assert finished.out == ""
    for part in parts:
        assert part in complaint


def turns(path: Path) -> list[dict[str, Any]]:
    content = json.loads(path.read_text())
    assert isinstance(content["turns"], list)
    return content["turns"]


def no_speech(turn: dict[str, Any]) -> None:
    assert (turn["outcome"], turn["transcript"], turn["reply"]) == ("no speech", "", "")
    assert (turn["first_audio_ms"], turn["errors"]) == (None, [])


def on_disk(folder: Path, options: str, *arguments: str) -> Started:
    """Run `voxring` with a disk of its own, `folder/disk`; its files are copied to `kept`."""
    disk = folder / "disk"
    disk.mkdir()
    apart = ["unshare", "--map-root-user", "--mount"]
    allowed = shutil.which("unshare") and subprocess.run(
        [*apart, "mount", "-t", "tmpfs", "tmpfs", str(disk)], capture_output=True, check=False
    )
    if not allowed or allowed.returncode:
        pytest.skip("needs the right to mount a disk inside a namespace of its own")
    script = 'mount -t tmpfs -o "$0" tmpfs disk; "$@"; code=$?; cp -r disk kept; exit $code'
    return Started(
        [*apart, "sh", "-c", script, options, *command(*arguments)], folder, environment()
    )
