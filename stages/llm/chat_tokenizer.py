"""A tokenizer and its chat template, without transformers: loading that takes seconds and PyTorch.

It does what `ChatTemplate` asks of a transformers tokenizer, from the same files, with the Jinja
environment that transformers documents for chat templates.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from jinja2 import TemplateError, nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment
from tokenizers import Tokenizer

from pipeline.errors import ModelError, reason
from pipeline.models.json_file import BROKEN

_ROLES = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token")


class ChatTokenizer:
    """A tokenizer with a chat template.

    Args:
        tokenizer: of the tokenizers library.
        special: text of the special tokens by role, such as `eos_token`.
        chat_template: its Jinja source; empty if there is none.

    Attributes:
        chat_template: the same.
    """

    def __init__(self, tokenizer: Any, special: Mapping[str, str], chat_template: str) -> None:
        self._tokenizer = tokenizer
        self._special = special
        self.chat_template = chat_template

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read tokenizer.json, tokenizer_config.json and the chat template.

        Raises:
            ModelError: a file is missing or broken.
        """
        try:
            tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
            config = json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8"))
            return cls(tokenizer, _special(config), _template(folder, config))
        except Exception as error:  # NOTE: tokenizers raises plain Exception
            raise ModelError(
                f"{folder} has no tokenizer that can be used: {reason(error)}", BROKEN
            ) from error

    @property
    def eos_token_id(self) -> int | None:
        """The id that ends a text."""
        token = self._special.get("eos_token")
        return None if token is None else self._tokenizer.token_to_id(token)

    @property
    def added_tokens_decoder(self) -> Mapping[int, Any]:
        """The tokens that are found in text before it is cut, by id."""
        tokens: Mapping[int, Any] = self._tokenizer.get_added_tokens_decoder()
        return tokens

    def encode(
        self, text: str, *, add_special_tokens: bool, split_special_tokens: bool = False
    ) -> list[int]:
        """Ids of a text.

        Args:
            add_special_tokens: those that the tokenizer puts around a text.
            split_special_tokens: what spells a special token stays text.
        """
        self._tokenizer.encode_special_tokens = split_special_tokens
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=add_special_tokens).ids
        return ids

    def apply_chat_template(
        self, messages: Sequence[Mapping[str, str]], *, tokenize: bool, add_generation_prompt: bool
    ) -> str:
        """The text of a conversation.

        Raises:
            TemplateError: the template refuses it, or is none.
        """
        assert not tokenize
        text: str = self._compiled.render(
            messages=messages,
            tools=None,
            documents=None,
            add_generation_prompt=add_generation_prompt,
            **self._special,
        )
        return text

    @cached_property
    def _compiled(self) -> Any:
        environment = ImmutableSandboxedEnvironment(
            trim_blocks=True, lstrip_blocks=True, extensions=[_Generation, loopcontrols]
        )
        environment.filters["tojson"] = _to_json
        environment.globals["raise_exception"] = _refuse
        environment.globals["strftime_now"] = lambda form: datetime.now().strftime(form)
        return environment.from_string(self.chat_template)


class _Generation(Extension):
    """`{% generation %}` marks what a model is trained on, and writes nothing."""

    tags = {"generation"}  # noqa: RUF012 - as jinja2 declares it

    def parse(self, parser: Parser) -> list[nodes.Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


def _refuse(message: str) -> None:
    raise TemplateError(message)


def _to_json(value: Any, indent: int | None = None, **options: Any) -> str:
    """Jinja's own escapes what HTML does not like."""
    return json.dumps(value, ensure_ascii=False, indent=indent, **options)


def _special(config: Mapping[str, Any]) -> dict[str, str]:
    tokens = {role: config[role] for role in _ROLES if config.get(role)}
    return {role: t if isinstance(t, str) else t["content"] for role, t in tokens.items()}


def _template(folder: Path, config: Mapping[str, Any]) -> str:
    """The chat template; of several, the one called `default`."""
    path = folder / "chat_template.jinja"
    if path.is_file():
        return path.read_text(encoding="utf-8")
    written = config.get("chat_template") or ""
    if isinstance(written, list):
        written = {entry["name"]: entry["template"] for entry in written}.get("default", "")
    return str(written)
