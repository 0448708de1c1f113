"""Whisper on CTranslate2: sound in, transcript out, no state between calls."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ctranslate2
import numpy as np
from faster_whisper import WhisperModel
from numpy.typing import NDArray

from pipeline.errors import ModelError
from stages.asr.guards import Decode, guarded, most_ids
from stages.asr.transcript import Transcript, spoken
from stages.asr.window import RATE, loudest_dbfs, pieces, voiced_seconds, window_for

Samples = NDArray[np.int16] | NDArray[np.float32]

_FLOOR_DBFS = -60.0  # quieter than this is a muted microphone, and Whisper would invent words
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

    def warm_up(self) -> None:
        """Decode once, so that the first turn does not wait for memory and code paths."""
        self._decode(np.zeros(RATE, np.float32), window_for(RATE))

    def transcribe(self, samples: Samples) -> Transcript:
        """Decode mono sound at 16 kHz, of any length; an empty transcript if nobody speaks.

        Args:
            samples: int16, or float32 in -1 to 1, shape [n]; n may be 0.
        """
        audio = _as_float(samples)
        decodes = [self._piece(piece) for piece in pieces(audio) if _audible(piece)]
        return _joined([d for d in decodes if not d.silent and spoken(d.text)], self._tokenizer)

    def _piece(self, audio: NDArray[np.float32]) -> Decode:
        return guarded(
            lambda window: self._decode(audio, window),
            self._spell,
            window_for(audio.size),
            voiced_seconds(audio),
        )

    def _decode(self, audio: NDArray[np.float32], window: int) -> Decode:
        encoded = self._encode(audio, window)
        language = self._language(encoded)
        prompt = self._prompt(language)
        cap = min(most_ids(audio.size), _LONGEST - len(prompt))
        result = self._model.generate(
            encoded,
            [prompt],
            beam_size=1,
            max_length=len(prompt) + cap,
            return_scores=True,
            return_no_speech_prob=True,
        )[0]
        sequence = result.sequences_ids[0]
        ids = tuple(n for n in sequence if n < self._end)  # timestamps and the like lie above
        return Decode(
            ids=ids,
            text=self._spell(ids),
            # CTranslate2 leaves the end token out of the mean; Whisper's thresholds count it
            avg_logprob=result.scores[0] * len(sequence) / (len(sequence) + 1),
            no_speech_prob=result.no_speech_prob,
            language=language,
            window=window,
            capped=len(sequence) >= cap,
        )

    def _encode(self, audio: NDArray[np.float32], window: int) -> ctranslate2.StorageView:
        padded = np.zeros(window, np.float32)
        padded[: audio.size] = audio
        mel = self._whisper.feature_extractor(padded, padding=0)  # [mels, window / 160]
        batch = np.ascontiguousarray(mel[None], dtype=np.float32)
        return self._model.encode(ctranslate2.StorageView.from_array(batch))

    def _language(self, encoded: ctranslate2.StorageView) -> str:
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

    def _spell(self, ids: Sequence[int]) -> str:
        return str(self._tokenizer.decode(list(ids)))

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


def _joined(decodes: Sequence[Decode], tokenizer: Any) -> Transcript:
    if not decodes:
        return Transcript()
    text = "".join(d.text for d in decodes)
    words = spoken(text)
    ids = tuple(n for d in decodes for n in d.ids)
    return Transcript(
        text=words.strip(),
        ids=ids if words == text else tuple(tokenizer.encode(words, add_special_tokens=False).ids),
        avg_logprob=min(d.avg_logprob for d in decodes),
        no_speech_prob=max(d.no_speech_prob for d in decodes),
        language=decodes[0].language,
        window_s=max(d.window for d in decodes) / RATE,
    )


def _as_float(samples: Samples) -> NDArray[np.float32]:
    if samples.dtype == np.int16:
        return samples.astype(np.float32) / np.float32(32768)
    return samples.astype(np.float32, copy=False)


def _audible(audio: NDArray[np.float32]) -> bool:
    return loudest_dbfs(audio) > _FLOOR_DBFS
