"""A Piper voice that was split: sentences that are spoken while they grow."""

from contextlib import suppress
from pathlib import Path

from pipeline.errors import ModelError
from pipeline.models import Progress
from pipeline.models.voice import voices_in
from stages.tts.piper_model import PiperModel, VoiceSettings
from stages.tts.vits.cuts import NotCut
from stages.tts.vits.graphs import Floats, VitsGraphs
from stages.tts.vits.store import open_graphs, split_once
from stages.tts.vits.stream import SentenceStream


class SplitVoice:
    """One voice for all lanes; each sentence has a state of its own.

    Args:
        model: its files.
        graphs: its graph, in three.
    """

    def __init__(self, model: PiperModel, graphs: VitsGraphs) -> None:
        self.rate = model.rate
        self.hop = graphs.shape.hop
        self.volume = model.settings.volume
        self.phonemes = model.speller.phonemes
        self.encode = model.speller.encode
        self._graphs = graphs

    @classmethod
    def load(cls, model: PiperModel, progress: Progress) -> "SplitVoice":
        """Load the graphs, split now if they were not before.

        Raises:
            NotCut: this voice cannot be split.
            ModelError: the parts in the model cache were changed.
        """
        _need_phonemes(model)
        threads, symbols = model.settings.threads, model.config.num_symbols
        return cls(model, open_graphs(model.path, symbols, model.style, threads, progress))

    def begin(self, key: int) -> SentenceStream:
        """The sound of one sentence."""
        return SentenceStream(self._graphs, key)

    def say(self, text: str) -> Floats:
        """A whole sentence at once, silence around it included; float32 in -1..1."""
        ids, _ = self.encode([self.phonemes(text)])
        stream = self.begin(0)
        stream.look(ids)
        stream.promise(len(ids), whole=True)
        return stream.decode(stream.ready)


def prepare(place: Path, progress: Progress) -> None:
    """Split the Piper voices that a path is or holds now, so that no start has to.

    What stands in the way is told by the stage, which does without.
    """
    for path in voices_in(place):
        with suppress(NotCut, ModelError):
            model = PiperModel.load(path, VoiceSettings())
            _need_phonemes(model)
            split_once(path, model.config.num_symbols, progress)


def _need_phonemes(model: PiperModel) -> None:
    if not model.speller.spells_by_phoneme:
        raise NotCut("its phonemes are not written one after the other")
