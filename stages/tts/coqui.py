"""A coqui-tts voice as a stage of the pipeline, spoken clause by clause."""

from collections.abc import Callable, Sequence

from pipeline.models import resolve
from pipeline.tokenizer import vocabulary_for
from stages.lane import Lane
from stages.stage import Session, Stage
from stages.tts.clauses import ClauseRules
from stages.tts.clausewise import ClausewiseUtterance
from stages.tts.coqui_voice import CoquiOptions, load_coqui
from stages.tts.fair import step_fairly
from stages.tts.front import Front
from stages.tts.sound import Rests
from stages.tts.speaker import Speaker


class CoquiTts(Stage):
    """One voice for all conversations."""

    name = "tts"

    def load(self) -> None:
        """Load the voice and the language model's vocabulary, and say something unheard."""
        self.options = self.host.options(CoquiOptions)
        self.host.progress("reading the vocabulary", None)
        self.vocabulary = vocabulary_for(self.host.config, self.host.progress)
        self.host.progress("loading the voice", None)
        folder = resolve(self.config.model, self.host.progress)
        self.voice = load_coqui(folder, self.options, self.config.speed, self.config.volume)
        for _ in self.voice.pieces("The first run is slower than the second."):
            pass
        self.rules = ClauseRules(first_words=self.config.first_words)

    def open(self, lane: Lane) -> Speaker:
        """A new conversation."""
        return Speaker(lane, self._begin, self.host.now)

    def step(
        self, sessions: Sequence[Session], failed: Callable[[Session, Exception], None]
    ) -> None:
        """Serve the lanes in the order of their need."""
        step_fairly(sessions, failed)

    def _begin(self) -> ClausewiseUtterance:
        front = Front(
            self.vocabulary,
            english=self.options.language.startswith("en"),
            thinking=self.config.skip_thinking,
        )
        return ClausewiseUtterance(front, self.voice, self.rules, Rests())
