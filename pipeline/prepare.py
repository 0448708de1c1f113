"""The program that brings the models of a configuration into the cache, before any stage starts.

`python -P -m pipeline.prepare --fds lifeline=3,ready=4`, the configuration on standard input. It is
a program of its own so that it can be stopped at once, and so that a conversion's memory is gone
when it is done.
"""

import argparse
import json
import signal
import sys
from pathlib import Path

from pipeline import models
from pipeline.config import Config, validate
from pipeline.models.voice import is_split, split_place, voices_in
from pipeline.version import VERSION
from ringbuf import lifeline
from stages.report import Report, explain
from stages.run import parse_fds


def references(config: Config) -> dict[str, str]:
    """The models that the built-in stages of `config` need, by the key that names each."""
    needed = {}
    if config.turn.stage == "silero" and config.turn.end_model:
        needed["turn.end_model"] = config.turn.end_model
    if config.asr.stage == "faster-whisper":
        needed["asr.model"] = config.asr.model
    if config.llm.model != "bytes":
        needed["llm.model"] = config.llm.model
    if config.tts.stage in ("piper", "coqui"):
        needed["tts.model"] = config.tts.model
    return needed


def prepare(config: Config, progress: models.Progress) -> None:
    """Fetch, check and convert every model that the built-in stages of `config` name.

    Raises:
        ModelError: one cannot be had.
    """
    for key, reference in references(config).items():
        if key == "turn.end_model":
            models.smart_turn_path(reference, progress)
        elif key == "asr.model":
            models.resolve(reference, progress)
        elif key == "tts.model":
            place = models.resolve(reference, progress)
            if config.tts.stage == "piper" and config.tts.streaming:
                prepare_voice(place, progress)
        elif config.llm.stage == "onnx":
            models.prepare_onnx(
                reference, config.llm.quantization, progress, mapped=config.llm.map_weights
            )
        else:
            models.prepare_llm(reference, progress)


def prepare_voice(place: Path, progress: models.Progress) -> None:
    """Make of the Piper voice that `place` is or holds, if it is one, what its stage opens."""
    if not all(is_split(split_place(voice)) for voice in voices_in(place)):
        from stages.tts.split_voice import prepare  # NOTE: brings ONNX Runtime

        prepare(place, progress)


def main() -> int:
    """Prepare and say so."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--fds", required=True)
    fds, _ = parse_fds(parser.parse_args().fds)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    lifeline(fds["lifeline"])
    report = Report(fds["ready"])
    try:
        prepare(validate(Config, json.load(sys.stdin), "the configuration"), report.progress)
    except Exception as error:
        report.send(**explain(error))
        return 1
    report.send(ready=VERSION)
    return 0


if __name__ == "__main__":
    sys.exit(main())
