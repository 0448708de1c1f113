"""A language model under ONNX Runtime as a stage: the embedded default on a CPU."""

from functools import partial

from pipeline.errors import ConfigError
from stages.lane import Lane
from stages.llm.conversation import Conversation
from stages.llm.session import LlmSession
from stages.stage import Stage


class OnnxLlm(Stage):
    """Any causal language model that onnxruntime-genai's builder knows."""

    name = "llm"

    def load(self) -> None:
        """Load model, tokenizer and chat template, then compute a little of everything."""
        config, progress = self.host.config.llm, self.host.progress
        if config.device != "cpu" or config.dtype != "float32":
            raise ConfigError(
                f"llm.stage 'onnx' has llm.device '{config.device}' and llm.dtype "
                f"'{config.dtype}'; it computes in float32 on the CPU",
                "Set llm.stage to 'transformers', or remove both",
            )
        progress("loading ONNX Runtime", None)
        from pipeline.models import prepare_onnx
        from pipeline.tokenizer import Vocabulary
        from stages.llm.chat_tokenizer import ChatTokenizer
        from stages.llm.engine import warm_up
        from stages.llm.onnx_engine import load_engine
        from stages.llm.sampling import Sampling
        from stages.llm.template import ChatTemplate

        folder = prepare_onnx(
            config.model, config.quantization, progress, mapped=config.map_weights
        )
        progress("loading the language model", None)
        self.engine = load_engine(
            folder,
            context=config.context,
            threads=self.host.threads,
            sampling=Sampling.of(config),
        )
        tokenizer = ChatTokenizer.load(folder)
        self.template = ChatTemplate(tokenizer, self.engine.stops, config.model)
        self.vocabulary = Vocabulary.load(folder)
        progress("warming up the language model", None)
        warm_up(self.engine)

    def open(self, lane: Lane) -> LlmSession:
        """A new conversation, with the configuration's system prompt."""
        config = self.host.config.llm
        greeting = self.host.config.turn.greeting
        pieces = partial(self.template.pieces, cut=config.interrupted, greeting=greeting)
        conversation = Conversation(
            self.engine, lane.number, pieces(config.system), config.max_new_tokens
        )
        words, silent = self.template.words, self.vocabulary.is_silent
        return LlmSession(lane, conversation, pieces, words, silent, self.host.now)
