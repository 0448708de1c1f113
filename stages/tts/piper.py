"""A Piper voice as a stage of the pipeline."""

import logging
from collections.abc import Callable, Sequence

from pipeline.models import resolve
from pipeline.tokenizer import vocabulary_for
from stages.lane import Lane
from stages.stage import Session, Stage
from stages.tts.clauses import ClauseRules
from stages.tts.clausewise import ClausewiseUtterance
from stages.tts.fair import step_fairly
from stages.tts.front import Front
from stages.tts.piper_model import PiperModel, VoiceSettings, find_voice
from stages.tts.sound import Rests
from stages.tts.speaker import Speaker
from stages.tts.streaming import StreamingUtterance, StreamRules
from stages.tts.utterance import Utterance
from stages.tts.vits.cuts import NotCut

_LOG = logging.getLogger(__name__)
_WARM_UP = "The first run is slower than the second."


class PiperTts(Stage):
    """One voice for all conversations; each answer has text and sentences of its own."""

    name = "tts"

    def load(self) -> None:
        """Load the voice and the language model's vocabulary, and say something unheard."""
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
        self.begin = self._prepare(PiperModel.load(path, settings))

    def open(self, lane: Lane) -> Speaker:
        """A new conversation."""
        return Speaker(lane, self.begin, self.host.now)

    def step(
        self, sessions: Sequence[Session], failed: Callable[[Session, Exception], None]
    ) -> None:
        """Serve the lanes in the order of their need."""
        step_fairly(sessions, failed)

    def _prepare(self, model: PiperModel) -> Callable[[], Utterance]:
        """What makes the utterance of an answer: a growing one if the voice can be split."""
        if self.config.streaming:
            try:
                return self._streaming(model)
            except NotCut as reason:
                _LOG.warning("%s is spoken clause by clause: %s", model.path.name, reason)
        return self._clausewise(model)

    def _streaming(self, model: PiperModel) -> Callable[[], Utterance]:
        from stages.tts.split_voice import SplitVoice

        voice = SplitVoice.load(model, self.host.progress)
        voice.say(_WARM_UP)
        rules = StreamRules(lookahead=self.config.lookahead)
        return lambda: StreamingUtterance(self._front(model), voice, rules, Rests(), self.host.now)

    def _clausewise(self, model: PiperModel) -> Callable[[], Utterance]:
        from stages.tts.piper_voice import PiperVoice

        voice = PiperVoice.load(model)
        voice.synthesise(_WARM_UP)
        rules = ClauseRules(first_words=self.config.first_words)
        return lambda: ClausewiseUtterance(self._front(model), voice, rules, Rests())

    def _front(self, model: PiperModel) -> Front:
        return Front(self.vocabulary, english=model.is_english, thinking=self.config.skip_thinking)
