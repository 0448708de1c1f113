"""A Piper voice as a stage of the pipeline."""

from pathlib import Path

from pipeline.errors import ModelError
from pipeline.models import resolve
from pipeline.tokenizer import vocabulary_for
from stages.lane import Lane
from stages.stage import Stage
from stages.tts.clauses import ClauseRules
from stages.tts.clausewise import ClausewiseUtterance
from stages.tts.sound import Rests
from stages.tts.speaker import Speaker


class PiperTts(Stage):
    """One voice for all conversations; each answer has text and clauses of its own."""

    name = "tts"

    def load(self) -> None:
        """Load the voice and the language model's vocabulary, and say something unheard."""
        from stages.tts.piper_voice import PiperVoice, VoiceSettings

        self.host.progress("reading the vocabulary", None)
        self.vocabulary = vocabulary_for(self.host.config, self.host.progress)
        path = find_voice(resolve(self.config.model, self.host.progress))
        self.host.progress("loading the voice", None)
        settings = VoiceSettings(
            speed=self.config.speed,
            volume=self.config.volume,
            speaker=self.config.speaker,
            threads=self.host.threads,
        )
        self.voice = PiperVoice.load(path, settings)
        self.voice.synthesise("The first run is slower than the second.")
        self.rules = ClauseRules(first_words=self.config.first_words)

    def open(self, lane: Lane) -> Speaker:
        """A new conversation."""
        return Speaker(lane, self._begin, self.host.now)

    def _begin(self) -> ClausewiseUtterance:
        return ClausewiseUtterance(self.vocabulary, self.voice, self.rules, Rests())


def find_voice(place: Path) -> Path:
    """The voice that `place` is, or holds.

    Raises:
        ModelError: there is none, or more than one.
    """
    if place.is_file():
        return place
    found = sorted(place.glob("*.onnx"))
    if len(found) != 1:
        raise ModelError(
            f"{place} holds {len(found)} .onnx files, expected one Piper voice",
            "Set tts.model to the .onnx file of a voice",
        )
    return found[0]
