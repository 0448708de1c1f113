"""Markup that arrives in pieces: code blocks, thoughts, tool calls and link targets are not said.

Tags go and their content stays; the cells of a table are parted by commas. What is left of markup
(emphasis, headings, bullets) is dropped word by word; see `speakable`.
"""

import re
import string

from stages.tts.silences import CodeBlock, LinkTarget, Silence, Span

_THOUGHT = "think"
_CALLS = ("tool_call", "tool_response")
_LONGEST_CALL = 4000  # characters, and so on
_LONGEST_COMMENT = 1000
_LONGEST_TARGET = 2000
_LONGEST_TAG = 300
_LONGEST_INFO = 100  # what stands behind the fence of a code block
_LONGEST_GAP = 100  # between two cells of a table

_NAME = r"[a-z][\w-]*"
_ATTRIBUTE = r"""[ \t]+[\w:-]+[ \t]*=[ \t]*(?:"[^"\n]*"|'[^'\n]*')"""
_TAG = re.compile(rf"<(/?)({_NAME})(?:{_ATTRIBUTE})*[ \t]*/?>")
_TAG_SO_FAR = re.compile(
    rf"</?(?:{_NAME}(?:{_ATTRIBUTE})*(?:[ \t]*/?|[ \t]+[\w:-]+[ \t]*"
    r"""(?:=[ \t]*(?:"[^"\n]*|'[^'\n]*)?)?))?"""
)
_LINE_TAG = re.compile(r"br|p|li|tr|div|h[1-6]")  # what follows is a new line
_COMMENT = "<!--"
_LANGUAGE = re.compile(r"[\w+#.-]*[ \t]*")

_Shown = tuple[int, str]  # how many characters are settled, and what is shown of them
_WAIT: _Shown = (0, "")


class MarkupFilter:
    """Text of one answer without what is only for the eye.

    At most a tag, or the line that opens a code block, is held back. A code block and a thought
    that are never closed silence the rest; all else only a bounded stretch.

    Args:
        thinking: leave out thoughts, `<think>` to `</think>`.
    """

    def __init__(self, *, thinking: bool = True) -> None:
        self._spans: dict[str, int | None] = dict.fromkeys(_CALLS, _LONGEST_CALL)
        if thinking:
            self._spans[_THOUGHT] = None
        self._held = ""
        self._positions: list[int] = []
        self._silence: Silence | None = None
        self._code = 0  # back-ticks that opened the code inside this line; 0: there is none
        self._is_fresh = True  # nothing to say stands before in this line
        self._looks = {
            "`": self._tick,
            "~": self._tilde,
            "<": self._angle,
            "]": self._bracket,
            "|": self._pipe,
            "\\": self._backslash,
        }

    def feed(self, char: str, position: int) -> list[tuple[str, int]]:
        """Characters to say, each with the position of the id that completed it."""
        self._held += char
        self._positions.append(position)
        return self._settle(whole=False)

    def flush(self) -> list[tuple[str, int]]:
        """What was held back when the reply ended."""
        return self._settle(whole=True)

    def _settle(self, *, whole: bool) -> list[tuple[str, int]]:
        """Show what is certain of the held text; `whole`: nothing follows it."""
        shown: list[tuple[str, int]] = []
        while self._held:
            length, text = self._look(whole=whole)
            if not length:
                break
            shown += [(char, self._positions[length - 1]) for char in text]
            self._held, self._positions = self._held[length:], self._positions[length:]
        return shown

    def _look(self, *, whole: bool) -> _Shown:
        char = self._held[0]
        if self._silence:
            then = self._silence.feed(char)
            if then is not None:
                self._silence = None
            return 1, then or ""
        look = self._looks.get(char)
        return look(whole) if look and (char == "`" or not self._code) else self._plain()

    def _plain(self) -> _Shown:
        char = self._held[0]
        if char == "\n":
            self._code, self._is_fresh = 0, True
        elif char not in " \t>":
            self._is_fresh = False
        return 1, char

    def _tick(self, whole: bool) -> _Shown:
        run = self._run()
        if run == len(self._held) and not whole:
            return _WAIT
        if self._code:
            self._code = 0 if run == self._code else self._code
            return run, ""
        if run >= 3 and (fence := self._fence(run, whole)) is not None:
            return fence
        self._code, self._is_fresh = run, False
        return run, ""

    def _tilde(self, whole: bool) -> _Shown:
        run = self._run()
        if run == len(self._held) and not whole:
            return _WAIT
        if run >= 3 and self._is_fresh and (fence := self._fence(run, whole)) is not None:
            return fence
        self._is_fresh = False
        return run, "~" * run

    def _fence(self, run: int, whole: bool) -> _Shown | None:
        """The line that opens a code block; None: it does not.

        Behind other text it has to name a language, or it would be code inside the line.
        """
        line, end, _ = self._held[run:].partition("\n")
        may_open = self._is_fresh or _LANGUAGE.fullmatch(line)
        if self._held[0] in line or len(line) > _LONGEST_INFO or not may_open:
            return None
        if not end and not whole:
            return _WAIT
        if not self._is_fresh and not line.strip():
            return None
        self._silence, self._is_fresh = CodeBlock(self._held[:run]), True
        return run + len(line) + len(end), "\n"

    def _angle(self, whole: bool) -> _Shown:
        if self._held.startswith(_COMMENT):
            self._silence = Span("-->", _LONGEST_COMMENT)
            return len(_COMMENT), ""
        if tag := _TAG.match(self._held):
            name = tag[2]
            if not tag[1] and name in self._spans:
                self._silence = Span(f"</{name}>", self._spans[name])
            return len(tag[0]), "\n" if _LINE_TAG.fullmatch(name) else ""
        is_tag = _COMMENT.startswith(self._held) or _TAG_SO_FAR.fullmatch(self._held)
        if is_tag and len(self._held) <= _LONGEST_TAG and not whole:
            return _WAIT
        return self._plain()

    def _bracket(self, whole: bool) -> _Shown:
        if len(self._held) == 1 and not whole:
            return _WAIT
        if not self._held.startswith("]("):
            return self._plain()
        self._silence = LinkTarget(_LONGEST_TARGET)
        return 2, "]"

    def _pipe(self, whole: bool) -> _Shown:
        rest = self._held.lstrip("| \t")
        length = len(self._held) - len(rest)
        if not rest and not whole and length < _LONGEST_GAP:
            return _WAIT
        is_edge = self._is_fresh or not rest or rest[0] == "\n"
        return length, " " if is_edge else ", "

    def _backslash(self, whole: bool) -> _Shown:
        if len(self._held) == 1 and not whole:
            return _WAIT
        if self._held[1:2] not in set(string.punctuation):
            return self._plain()
        self._is_fresh = False
        return 2, self._held[1]

    def _run(self) -> int:
        """How many of the first character stand there."""
        return len(self._held) - len(self._held.lstrip(self._held[0]))
