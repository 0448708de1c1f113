"""A language model that follows a script: set replies at a set pace, the same session as ever."""

from collections.abc import Callable

from pydantic import BaseModel, ConfigDict, Field

from stages.lane import Lane
from stages.llm.conversation import Conversation
from stages.llm.pieces import Pieces
from stages.llm.scripted_engine import ScriptedEngine, scripted_pieces
from stages.llm.session import LlmSession, Pace
from stages.stage import Stage


class ScriptedLlmOptions(BaseModel):
    """Options of the scripted language model.

    Attributes:
        replies: what it says, turn by turn; after the last it begins again.
        ids_per_s: its pace; 0: at once.
        first_id_ms: from the end of the prompt to the first id.
        fail_after: raise instead of giving the id with this index of each reply.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    replies: list[str] = Field(default_factory=lambda: ["I heard you."])
    ids_per_s: float = Field(0.0, ge=0)
    first_id_ms: float = Field(0.0, ge=0)
    fail_after: int | None = Field(None, ge=0)


class ScriptedLlm(Stage):
    """Says what its options tell, in the ids of the configured model (`llm.model`).

    The model `bytes` has the byte values of UTF-8 as its ids and needs no file.
    """

    name = "llm"

    def load(self) -> None:
        """Turn the script into ids."""
        from pipeline.tokenizer import load_vocabulary

        options = self.host.options(ScriptedLlmOptions)
        config = self.host.config.llm
        reference, encode = _tokenizer(config.model)
        self.vocabulary = load_vocabulary(reference)
        replies = [encode(text) for text in options.replies]
        self.engine = ScriptedEngine(replies, config.context, options.fail_after)
        next_ns = int(1e9 / options.ids_per_s) if options.ids_per_s else 0
        self.pace = Pace(int(options.first_id_ms * 1e6), next_ns)
        self._encode = encode

    def open(self, lane: Lane) -> LlmSession:
        """A new conversation, at the script's beginning."""
        config = self.host.config.llm
        conversation = Conversation(
            self.engine, lane.number, self._pieces(config.system), config.max_new_tokens
        )
        silent = self.vocabulary.is_silent
        return LlmSession(
            lane, conversation, self._pieces, self._encode, silent, self.host.now, self.pace
        )

    def _pieces(self, instructions: str) -> Pieces:
        config = self.host.config
        texts = (instructions, config.llm.interrupted, config.turn.greeting)
        return scripted_pieces(*map(self._encode, texts))


def _tokenizer(model: str) -> tuple[str, Callable[[str], list[int]]]:
    """Where the vocabulary is, and text to ids."""
    if model == "bytes":
        return model, lambda text: list(text.encode())
    from tokenizers import Tokenizer

    from pipeline.models import prepare_llm

    folder = prepare_llm(model)
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    return str(folder), lambda text: tokenizer.encode(text, add_special_tokens=False).ids
