"""Writes a small VITS with random weights, as coqui-tts saves its models; run by its interpreter.

python coqui_checkpoint.py FOLDER
"""

import sys
from pathlib import Path

import torch
from TTS.tts.configs.vits_config import VitsConfig
from TTS.tts.models.vits import Vits, VitsArgs


def main(folder: Path) -> None:
    torch.manual_seed(1)
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
    model = Vits(config)
    config.save_json(folder / "config.json")
    torch.save({"model": model.state_dict()}, folder / "model.pth")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
