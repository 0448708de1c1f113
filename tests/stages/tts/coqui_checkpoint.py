"""Writes a small model with random weights, as coqui-tts saves its models; run by its interpreter.

python coqui_checkpoint.py vits|xtts FOLDER
"""

import string
import sys
from pathlib import Path

import torch
from tokenizers import Tokenizer
from tokenizers.models import BPE
from TTS.tts.configs.vits_config import VitsConfig
from TTS.tts.configs.xtts_config import XttsConfig
from TTS.tts.models.vits import Vits, VitsArgs
from TTS.tts.models.xtts import Xtts, XttsArgs

WIDTH = 64  # of XTTS's transformer
TOKENS = 60  # of XTTS's sound, at most, 43 ms each


def write_vits(folder: Path) -> None:
    args = VitsArgs(
        hidden_channels=32,
        hidden_channels_ffn_text_encoder=64,
        num_layers_text_encoder=2,
        num_layers_flow=2,
        num_layers_posterior_encoder=2,
        upsample_initial_channel_decoder=64,
        init_discriminator=False,
    )
    config = VitsConfig(
        model_args=args,
        use_phonemes=False,
        text_cleaner="basic_cleaners",
        test_sentences=[],
    )
    save(Vits(config), config, folder)


def write_xtts(folder: Path) -> None:
    """With one speaker, "anna"."""
    args = XttsArgs(
        gpt_layers=2,
        gpt_n_model_channels=WIDTH,
        gpt_n_heads=2,
        gpt_max_audio_tokens=TOKENS,
        gpt_num_audio_tokens=1026,
        gpt_start_audio_token=1024,
        gpt_stop_audio_token=1025,
        gpt_use_perceiver_resampler=True,
        decoder_input_dim=WIDTH,
        d_vector_dim=16,
    )
    config = XttsConfig(model_args=args, test_sentences=[])
    specials = ["[STOP]", "[UNK]", "[SPACE]", "[START]", "[en]"]
    symbols = [*specials, *string.ascii_lowercase, *".,?!'"]
    vocabulary = {symbol: id for id, symbol in enumerate(symbols)}
    tokenizer = Tokenizer(BPE(vocabulary, [], unk_token="[UNK]"))
    tokenizer.add_special_tokens(specials)
    tokenizer.save(str(folder / "vocab.json"))
    voice = {
        "gpt_cond_latent": torch.randn(1, 32, WIDTH),
        "speaker_embedding": torch.randn(1, 16, 1),
    }
    torch.save({"anna": voice}, folder / "speakers_xtts.pth")
    model = Xtts(config)
    model.tokenizer.tokenizer = tokenizer
    model.init_models()
    save(model, config, folder)


def save(model: torch.nn.Module, config: VitsConfig | XttsConfig, folder: Path) -> None:
    config.save_json(folder / "config.json")
    torch.save({"model": model.state_dict()}, folder / "model.pth")


if __name__ == "__main__":
    torch.manual_seed(1)
    {"vits": write_vits, "xtts": write_xtts}[sys.argv[1]](Path(sys.argv[2]))
