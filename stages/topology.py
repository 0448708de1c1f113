"""The picture of the pipeline as data: who writes what to whom."""

from ringbuf import Layout, RingKind, RingSpec, WordSpec

CONTROL = "control"
AUDIO, TURN, ASR, LLM, TTS = "audio", "turn", "asr", "llm", "tts"
STAGES = (AUDIO, TURN, ASR, LLM, TTS)

INPUT_RATE = 16_000  # what speech recognisers and voice activity detectors take
INPUT_BLOCK = 512  # 32 ms: the step of the voice activity detector
VOICE_BLOCK = 480  # 20 ms at 24 kHz, 10 ms at 48 kHz
MIC_BLOCKS = 128  # 4 s
SPEECH_BLOCKS = 2048  # 65 s
VOICE_BLOCKS = 512  # 10 s
COMMAND_BYTES = 16_384
SETTINGS_BYTES = 65_536  # a client's texts
CAPTION_BYTES = 65_536


def power_of_two(count: int) -> int:
    """The smallest power of two that is not below `count`."""
    return 1 << (count - 1).bit_length()


def topology(lanes: int, context: int, text: int = 0) -> Layout:
    """The layout of a pipeline's arena.

    Args:
        lanes: conversations at once.
        context: tokens of the LLM's context window; a token ring holds at least two of them.
        text: bytes of the configuration, which travels in the header.
    """
    tokens = power_of_two(2 * context)
    # Three whole conversations, see `Journal`; an id is 4 bytes, and may be a part of 16 by itself.
    history = power_of_two(3 * (20 * context + 64))
    return Layout(
        processes=(CONTROL, *STAGES),
        lanes=lanes,
        text=text,
        rings=(
            RingSpec("mic", RingKind.AUDIO, AUDIO, TURN, MIC_BLOCKS, INPUT_BLOCK),
            RingSpec("speech", RingKind.AUDIO, TURN, ASR, SPEECH_BLOCKS, INPUT_BLOCK),
            RingSpec("heard", RingKind.TOKEN, ASR, LLM, tokens),
            RingSpec("reply", RingKind.TOKEN, LLM, TTS, tokens),
            RingSpec("voice", RingKind.AUDIO, TTS, AUDIO, VOICE_BLOCKS, VOICE_BLOCK),
            RingSpec("commands", RingKind.COMMAND, AUDIO, TURN, COMMAND_BYTES),
            RingSpec("settings", RingKind.COMMAND, AUDIO, LLM, SETTINGS_BYTES),
            RingSpec("words", RingKind.COMMAND, ASR, TURN, COMMAND_BYTES),
            RingSpec("history", RingKind.COMMAND, LLM, LLM, history),
            RingSpec("orders", RingKind.COMMAND, CONTROL, AUDIO, COMMAND_BYTES),
            *(
                RingSpec(f"captions_{name}", RingKind.COMMAND, name, CONTROL, CAPTION_BYTES)
                for name in STAGES
            ),
        ),
        words=(
            WordSpec("opened", CONTROL),  # wakes nobody: it is there before its session
            WordSpec("session", CONTROL, STAGES),
            *(WordSpec(f"ack_{name}", name, (CONTROL,)) for name in STAGES),
            WordSpec("attended", CONTROL, (TURN,)),
            WordSpec("faults", CONTROL, (TURN,)),
            WordSpec("turn", TURN, (AUDIO, ASR)),
            WordSpec("ended", TURN, (LLM,)),
            WordSpec("answer", TURN, (AUDIO, LLM, TTS)),
            WordSpec("released", TURN, (AUDIO, CONTROL)),
            WordSpec("hold", TURN, (AUDIO,)),
            WordSpec("reply_end", LLM),  # wakes nobody: for control, or whoever looks at a lane
            WordSpec("voice_end", TTS, (AUDIO,)),
            WordSpec("played", AUDIO, (TURN, LLM)),
            WordSpec("levels", AUDIO),  # wakes nobody: whoever shows them looks when it draws
            WordSpec("device", AUDIO),
        ),
    )
