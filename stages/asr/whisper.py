"""Whisper on CTranslate2: a spectrogram in, ids out, no state between calls."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ctranslate2
import numpy as np
from faster_whisper import WhisperModel
from numpy.typing import NDArray

from pipeline.errors import ModelError
from stages.asr.guards import SECOND_OPINIONS, Decode, most_ids
from stages.asr.log_mel import LogMel
from stages.asr.window import FRAME, RATE, window_for
from stages.mel import HOP

Floats = NDArray[np.float32]
Encoded = Any  # ctranslate2.StorageView, [1, positions, size]: one position is 20 ms

_LONGEST = 448  # positions of Whisper's decoder, prompt included
_FILES = ("config.json", "model.bin", "tokenizer.json")
_GET_MODELS = "Fetch it with `voxring models fetch`, or set asr.model to a CTranslate2 folder"


class Whisper:
    """A loaded Whisper; several sessions may share it, one call at a time.

    Args:
        model_dir: folder with a CTranslate2 conversion (config.json, model.bin, tokenizer.json).
        device: `cpu`, `cuda` or `auto`.
        compute_type: CTranslate2's: `int8` for a CPU, `float16` for a GPU, `default` as converted.
        threads: threads of one decode on a CPU.
        languages: codes the speaker may use; one fixes it, none lets Whisper choose among all.

    Raises:
        ModelError: the folder is incomplete, cannot be loaded, or lacks a language.
    """

    def __init__(
        self,
        model_dir: Path,
        device: str = "cpu",
        compute_type: str = "int8",
        threads: int = 1,
        languages: Sequence[str] = (),
    ) -> None:
        self._whisper = _load(model_dir, device, compute_type, threads)
        self._model = self._whisper.model
        self._tokenizer = self._whisper.hf_tokenizer
        self._end = self._special("<|endoftext|>")
        self._start = self._special("<|startoftranscript|>")
        self._plain = self._special("<|notimestamps|>")
        self._languages = self._known(languages)

    @property
    def multilingual(self) -> bool:
        """Tell whether the model knows more than English."""
        return bool(self._model.is_multilingual)

    @property
    def filters(self) -> Floats:
        """Mel filter bank that the model was trained with, float32 [mels, 201]."""
        filters: Floats = self._whisper.feature_extractor.mel_filters
        return filters

    def encode(self, features: Floats) -> Encoded:
        """Run the encoder over a log-mel spectrogram, float32 [mels, frames]; most of the time."""
        return self._model.encode(ctranslate2.StorageView.from_array(features[None]))

    def generate(self, encoded: Encoded, samples: int, window: int, language: str = "") -> Decode:
        """Run the decoder, greedily.

        Args:
            encoded: what `encode` gave.
            samples: of sound in the window; more ids than it can hold are not waited for.
            window: samples that were encoded.
            language: one that is known already; else the model is asked, where that is needed.
        """
        language = language or self._language(encoded)
        prompt = self._prompt(language)
        cap = min(most_ids(samples), _LONGEST // 2)
        result = self._model.generate(
            encoded,
            [prompt],
            beam_size=1,
            max_length=2 * cap,  # CTranslate2 gives the reply half of it, as Whisper does
            return_scores=True,
            return_no_speech_prob=True,
        )[0]
        sequence = result.sequences_ids[0]
        ids = tuple(n for n in sequence if n < self._end)  # timestamps and the like lie above
        return Decode(
            ids=ids,
            text=self.spell(ids),
            # CTranslate2 leaves the end token out of the mean; Whisper's thresholds count it
            avg_logprob=result.scores[0] * len(sequence) / (len(sequence) + 1),
            no_speech_prob=result.no_speech_prob,
            language=language,
            window=window,
            capped=len(sequence) >= cap,
        )

    def spell(self, ids: Sequence[int]) -> str:
        """Text of ids; a character that is cut off comes as U+FFFD."""
        return str(self._tokenizer.decode(list(ids)))

    def id_ends(self, encoded: Encoded, decode: Decode, samples: int) -> list[int]:
        """Where in the sound each id of a decode ends, samples: where the next one begins.

        By dynamic time warping over the cross-attention, as Whisper's word timestamps.
        """
        start = self._prompt(decode.language)[:-1]
        (aligned,) = self._model.align(encoded, start, [list(decode.ids)], samples // HOP)
        begins: dict[int, int] = {}
        for id, position in aligned.alignments:
            begins.setdefault(id, position * FRAME)
        return [min(begins.get(id + 1, samples), samples) for id in range(len(decode.ids))]

    def warm_up(self) -> None:
        """Decode once in every window: no turn waits for memory, which then stays as it is.

        The longest is only asked for a second opinion, and takes 30 MiB that nobody gives back.
        """
        for window in (window_for(RATE), *SECOND_OPINIONS):
            self.generate(self.encode(LogMel(self.filters).window(0, window)), RATE, window)

    def _language(self, encoded: Encoded) -> str:
        if len(self._languages) == 1:
            return self._languages[0]
        # best first; Whisper lists every language it knows, so one is always allowed
        ranked: list[str] = [token[2:-2] for token, _ in self._model.detect_language(encoded)[0]]
        return next(code for code in ranked if not self._languages or code in self._languages)

    def _prompt(self, language: str) -> list[int]:
        if not self.multilingual:
            return [self._start, self._plain]
        task = self._special("<|transcribe|>")
        return [self._start, self._special(f"<|{language}|>"), task, self._plain]

    def _special(self, token: str) -> int:
        found: int | None = self._tokenizer.token_to_id(token)
        if found is None:
            raise ModelError(f"the speech model's tokenizer has no {token}: it is not a Whisper's")
        return found

    def _known(self, languages: Sequence[str]) -> tuple[str, ...]:
        supported = self._whisper.supported_languages
        if unknown := [code for code in languages if code not in supported]:
            raise ModelError(
                f"the speech model does not know the language {unknown[0]!r}, it knows "
                + (", ".join(sorted(supported)) if self.multilingual else "English (en) only"),
                "Choose a multilingual model, such as whisper-base, or another language",
            )
        return tuple(languages) if self.multilingual else ("en",)


def _load(model_dir: Path, device: str, compute_type: str, threads: int) -> Any:
    # a file that is missing would send faster-whisper to the network
    if missing := [name for name in _FILES if not (model_dir / name).is_file()]:
        raise ModelError(f"the speech model in {model_dir} has no {missing[0]}", _GET_MODELS)
    try:
        return WhisperModel(
            str(model_dir), device=device, compute_type=compute_type, cpu_threads=threads
        )
    except (RuntimeError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise ModelError(f"the speech model in {model_dir} cannot be loaded: {reason}") from error
