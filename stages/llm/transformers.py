"""A language model of transformers as a stage: one model, a conversation per lane."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import cast

from stages.lane import Lane
from stages.llm.conversation import Conversation
from stages.llm.out_of_memory import explained
from stages.llm.schedule import Schedule
from stages.llm.session import LlmSession
from stages.llm.together import Together
from stages.stage import Session, Stage


class TransformersLlm(Stage):
    """Any causal language model that transformers loads."""

    name = "llm"

    def load(self) -> None:
        """Load model, tokenizer and chat template, then compute a little of everything."""
        self.host.progress("loading PyTorch", None)
        from pipeline.models import prepare_llm
        from pipeline.tokenizer import Vocabulary
        from stages.llm.engine import warm_up
        from stages.llm.sampling import Sampling
        from stages.llm.template import ChatTemplate
        from stages.llm.transformers_engine import load_engine

        config, progress = self.host.config.llm, self.host.progress
        folder = prepare_llm(config.model, progress)
        progress("loading the language model", None)
        self.engine = load_engine(
            folder,
            context=config.context,
            dtype=config.dtype,
            device=config.device,
            threads=self.host.threads,
            sampling=Sampling.of(config),
            rows=config.chunk,
            lanes=self.host.config.pipeline.lanes,
            mapped=config.map_weights,
            switches=config.cuda,
            progress=progress,
        )
        self.template = ChatTemplate.load(folder, self.engine.stops)
        self.vocabulary = Vocabulary.load(folder)
        progress("warming up the language model", None)
        warm_up(self.engine)
        self._together = Together(self.engine, self.engine.rows, Schedule(config.cuda.chunks))

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

    def step(
        self, sessions: Sequence[Session], failed: Callable[[Session, Exception], None]
    ) -> None:
        """On a GPU all lanes that speak are computed together; on a CPU they take turns."""

        def fail(session: Session, error: Exception) -> None:
            failed(session, explained(error))

        if self.engine.is_batched:
            self._together.step(cast("Sequence[LlmSession]", sessions), fail)
        else:
            super().step(sessions, fail)
