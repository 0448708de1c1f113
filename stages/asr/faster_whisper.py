"""Whisper as a stage: one model, shared by all conversations."""

from stages.asr.bridge import bridge_for
from stages.asr.transcriber import Samples, Transcriber
from stages.lane import Lane
from stages.stage import Stage


class FasterWhisperAsr(Stage):
    """Any model that faster-whisper runs, on a CPU or a GPU."""

    name = "asr"

    def load(self) -> None:
        """Load the model and the language model's tokenizer, then decode once."""
        from pipeline.models import resolve
        from stages.asr.whisper import Whisper

        config, progress = self.host.config.asr, self.host.progress
        folder = resolve(config.model, progress)
        progress("loading the speech model", None)
        self.whisper = Whisper(
            folder,
            device=config.device,
            compute_type=config.compute_type,
            threads=self.host.threads,
            languages=(config.language,) if config.language else (),
        )
        self.bridge = bridge_for(self.host.config, progress)
        progress("warming up the speech model", None)
        self.whisper.warm_up()

    def open(self, lane: Lane) -> Transcriber:
        """Open a new conversation; Whisper itself remembers nothing of it."""
        return Transcriber(lane, self._recognise, self.bridge, self.host.now)

    def _recognise(self, samples: Samples) -> str:
        return self.whisper.transcribe(samples).text
