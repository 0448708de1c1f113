"""The program of one stage: `python -P -m stages.run --stage llm --fds arena=3,...`.

The supervisor starts it; people do not. It attaches to the arena by inherited descriptors, loads
its model, says so on its ready pipe and then serves every lane.
"""

import argparse
import importlib
import json
import logging
import os
import signal
import sys
import time
from collections.abc import Sequence

from pipeline.config import Config, Section, validate
from pipeline.errors import ConfigError, VoxringError
from pipeline.log_lines import JsonLines, configure
from pipeline.version import VERSION
from ringbuf import VERSION as LAYOUT_VERSION
from ringbuf import Arena, BellPipe, RingError, die_with_parent, lifeline
from stages.report import Report, explain
from stages.runner import Runner
from stages.stage import Host, Stage

BUILTIN = {
    "audio": {
        "file": "stages.audio.file:FileAudio",
        "device": "stages.audio.device.edge:DeviceAudio",
    },
    "turn": {
        "silero": "stages.turn.silero:SileroTurn",
        "scripted": "stages.turn.scripted:ScriptedTurn",
    },
    "asr": {
        "faster-whisper": "stages.asr.faster_whisper:FasterWhisperAsr",
        "scripted": "stages.asr.scripted:ScriptedAsr",
    },
    "llm": {
        "onnx": "stages.llm.onnx:OnnxLlm",
        "transformers": "stages.llm.transformers:TransformersLlm",
        "scripted": "stages.llm.scripted:ScriptedLlm",
    },
    "tts": {
        "piper": "stages.tts.piper:PiperTts",
        "coqui": "stages.tts.coqui:CoquiTts",
        "scripted": "stages.tts.scripted:ScriptedTts",
    },
}


def find_stage(kind: str, name: str) -> type[Stage]:
    """The class that a configuration names.

    Raises:
        ConfigError: there is none, with the names that exist.
    """
    path = BUILTIN[kind].get(name, name)
    module, separator, attribute = path.partition(":")
    if not separator:
        known = ", ".join(BUILTIN[kind])
        raise ConfigError(
            f"{kind}.stage is {name!r}",
            f"Built-in are: {known}; your own is 'package.module:Class'",
        )
    try:
        stage = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise ConfigError(
            f"{kind}.stage {name!r} cannot be imported: {error}",
            "Is its package installed in this stage's interpreter?",
        ) from error
    if not (isinstance(stage, type) and issubclass(stage, Stage)):
        raise ConfigError(f"{kind}.stage {name!r} is not a subclass of stages.stage.Stage")
    return stage


def parse_fds(text: str) -> tuple[dict[str, int], dict[str, BellPipe]]:
    """Descriptors by name, from "arena=3,lifeline=4,ready=5,audio=6:7,…"."""
    fds: dict[str, int] = {}
    bells: dict[str, BellPipe] = {}
    for item in text.split(","):
        name, _, value = item.partition("=")
        if ":" in value:
            read_fd, write_fd = value.split(":")
            bells[name] = BellPipe(int(read_fd), int(write_fd))
        else:
            fds[name] = int(value)
    return fds, bells


def start(kind: str, arena: Arena, report: Report) -> Runner:
    """Build, load and warm up the stage."""
    config = validate(Config, json.loads(arena.text), "the arena")
    section: Section = config.section(kind)
    _configure_log(kind, config)
    if section.nice:
        os.nice(section.nice)
    stage = find_stage(kind, section.stage)(
        Host(config, section, time.monotonic_ns, report.progress)
    )
    stage.load()
    return Runner(stage, arena, time.monotonic_ns)


def _configure_log(kind: str, config: Config) -> None:
    """For people; for a machine behind an endpoint whose log is for one."""
    is_served = config.audio.stage == "client" and config.serve.log == "json"
    people = logging.Formatter(f"%(asctime)s {kind} %(levelname)s %(name)s: %(message)s")
    configure(JsonLines(kind) if is_served else people, config.pipeline.log_level)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one stage until the supervisor ends it."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--stage", required=True, choices=tuple(BUILTIN))
    parser.add_argument("--fds", required=True)
    options = parser.parse_args(arguments)
    fds, bells = parse_fds(options.fds)
    # Ctrl-C reaches the whole terminal; the supervisor decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    lifeline(fds["lifeline"])
    die_with_parent()
    report = Report(fds["ready"])
    try:
        arena = Arena.attach(fds["arena"], options.stage, bells)
        runner = start(options.stage, arena, report)
        runner.attend()
    except Exception as error:
        expected = isinstance(error, VoxringError | RingError | ModuleNotFoundError)
        if not expected:
            logging.getLogger(__name__).exception("%s could not start", options.stage)
        report.send(**explain(error))
        return 1
    arena.bell.beat = time.monotonic_ns()  # from here on, silence means that it hangs
    report.send(ready=VERSION, layout=LAYOUT_VERSION, python=sys.version.split()[0])
    runner.run()
    return 0


if __name__ == "__main__":
    sys.exit(main())
