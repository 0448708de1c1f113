"""Whisper as a stage: one model, shared by all conversations."""

from stages.asr.bridge import bridge_for
from stages.asr.listener import Listener, Model
from stages.asr.stage import AsrStage
from stages.asr.transcriber import Transcriber
from stages.lane import Lane


class FasterWhisperAsr(AsrStage):
    """Any model that faster-whisper runs, on a CPU or a GPU."""

    def load(self) -> None:
        """Load the model and the language model's tokenizer, then decode once."""
        from pipeline.models import resolve
        from stages.asr.whisper import Whisper

        config, progress = self.host.config.asr, self.host.progress
        folder = resolve(config.model, progress)
        progress("loading the speech model", None)
        whisper = Whisper(
            folder,
            device=config.device,
            compute_type=config.compute_type,
            threads=self.host.threads,
            languages=config.languages,
        )
        self.bridge = bridge_for(self.host.config, progress)
        progress("warming up the speech model", None)
        whisper.warm_up()
        self.whisper: Model = whisper

    def open(self, lane: Lane) -> Transcriber:
        """Open a new conversation, with an ear of its own."""
        ear = Listener(self.whisper, self.host.config.asr.window_s)
        return self.transcriber(lane, ear, self.bridge)
