"""A model's chat template, worked out once as pieces of ids."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Self

from jinja2 import TemplateError

from pipeline.errors import ModelError, reason
from pipeline.models.json_file import BROKEN
from stages.llm.pieces import Pieces

# Characters of the private use area stand for words while a template is rendered: no template
# writes them, and none strips them.
_SYSTEM = "\ue000\ue001"
_SPOKEN = ("\ue002\ue003", "\ue004\ue005", "\ue006\ue007", "\ue008\ue009", "\ue00a\ue00b")
_EXAMPLE = ("Be brief.", "What is two and two?", "Four.", "And three?\nPlease.")
_REMEDY = "Choose a chat model, whose tokenizer brings its chat template"


class ChatTemplate:
    """The chat template of a tokenizer.

    A template without a system role gets the instructions in front of the user's first words,
    with an empty line between.

    Args:
        tokenizer: of transformers, with a chat template.
        eos_ids: ids that end a reply, as the model's generation config has them.
        name: of the model, for errors.

    Raises:
        ModelError: there is no chat template, or it cannot be cut into pieces.
    """

    def __init__(self, tokenizer: Any, eos_ids: Iterable[int], name: str) -> None:
        self._tokenizer = tokenizer
        self._name = name
        if not tokenizer.chat_template:
            raise ModelError(f"{name} has no chat template", _REMEDY)
        self._has_system_role = self._tries_system_role()
        self._ask, self._next = self._cut()
        self._eos_ids = frozenset(eos_ids)
        self._check()

    @classmethod
    def load(cls, folder: Path, eos_ids: Iterable[int]) -> Self:
        """Read a model folder's tokenizer, without the network.

        Raises:
            ModelError: it has none, or its chat template is missing or unusable.
        """
        import transformers

        try:
            tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
        except Exception as error:  # NOTE: what transformers raises on a broken file is no list
            raise ModelError(
                f"{folder} has no tokenizer that can be used: {reason(error)}", BROKEN
            ) from error
        return cls(tokenizer, eos_ids, str(folder))

    def pieces(self, instructions: str, *, cut: str = "", greeting: str = "") -> Pieces:
        """The pieces of a conversation under a system prompt; empty: the template's own.

        Args:
            cut: what stands behind a reply that was cut short.
            greeting: what is said before anybody has spoken.
        """
        return Pieces(
            opening=tuple(self._opening(instructions)),
            ask=tuple(self._ids(self._ask)),
            next=tuple(self._ids(self._next)),
            join=tuple(self.words("\n")),
            stops=self._stops(),
            cut=tuple(self.words(cut)),
            greeting=tuple(self.words(greeting)),
        )

    def words(self, text: str) -> list[int]:
        """Ids of what somebody wrote, in which special tokens are not."""
        ids: list[int] = self._tokenizer.encode(
            text, add_special_tokens=False, split_special_tokens=True
        )
        return ids

    def _opening(self, instructions: str) -> list[int]:
        """Ids before the user's first words; what the instructions spell stays text."""
        messages = self._messages(_SYSTEM if instructions else "", _SPOKEN[:1])
        text = self._render(messages).partition(_SPOKEN[0])[0]
        if not instructions:
            return self._ids(text)
        before, _, after = text.partition(_SYSTEM)
        parts = [*self._ids(before), *self.words(instructions), *self._ids(after)]
        # At the seams a tokenizer may join what we have cut; without look-alikes of special
        # tokens in the instructions, the whole is as safe and exact.
        harmless = self._ids(instructions) == self.words(instructions)
        return self._ids(before + instructions + after) if harmless else parts

    def _cut(self) -> tuple[str, str]:
        """The texts of ask and next, which must be the same in every turn."""
        _, found, rest = self._render(self._messages(_SYSTEM, _SPOKEN)).partition(_SPOKEN[0])
        between = []
        for words in _SPOKEN[1:]:
            text, found, rest = rest.partition(words)
            between.append(text)
        if not found:
            raise self._unusable("it changes or leaves out a message")
        asks, nexts = {*between[::2], rest}, set(between[1::2])
        if len(asks) != 1 or len(nexts) != 1:
            raise self._unusable("it writes earlier turns in another form than the last one")
        return asks.pop(), nexts.pop()

    def _check(self) -> None:
        """The pieces must add up to what the template makes of a whole conversation."""
        system, *spoken = _EXAMPLE
        pieces = self.pieces(system)
        first, reply, second = map(self.words, spoken)
        ours = [*pieces.opening, *first, *pieces.ask, *reply, *pieces.next, *second, *pieces.ask]
        if ours != self._ids(self._render(self._messages(system, spoken))):
            raise self._unusable("its pieces, one by one, give other ids than the whole")

    def _tries_system_role(self) -> bool:
        messages = [
            {"role": "system", "content": _SYSTEM},
            {"role": "user", "content": _SPOKEN[0]},
        ]
        try:
            return _SYSTEM in self._render(messages)
        except ModelError:
            return False  # Gemma's template, for one, raises

    def _messages(self, system: str, spoken: Sequence[str]) -> list[dict[str, str]]:
        roles = ("user", "assistant")
        messages = [{"role": roles[n % 2], "content": text} for n, text in enumerate(spoken)]
        if system and self._has_system_role:
            return [{"role": "system", "content": system}, *messages]
        if system:
            messages[0]["content"] = f"{system}\n\n{messages[0]['content']}"
        return messages

    def _render(self, messages: list[dict[str, str]]) -> str:
        try:
            text: str = self._tokenizer.apply_chat_template(
                messages,
                tokenize=False,
                add_generation_prompt=messages[-1]["role"] == "user",
            )
        except TemplateError as error:
            raise self._unusable(f"it says: {error}") from error
        return text

    def _stops(self) -> frozenset[int]:
        """The model's own stop ids, and the special token that its template ends a reply with."""
        first = self._ids(self._next)[:1]
        special = {id for id in first if id in self._tokenizer.added_tokens_decoder}
        own = self._tokenizer.eos_token_id
        return self._eos_ids | special | ({own} if own is not None else set())

    def _ids(self, text: str) -> list[int]:
        """Ids of a template's text, in which special tokens are meant."""
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False)
        return ids

    def _unusable(self, reason: str) -> ModelError:
        return ModelError(
            f"{self._name} has a chat template that cannot be used: {reason}", _REMEDY
        )
