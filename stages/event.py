"""What can happen in a turn: the rows of its timeline."""

from enum import IntEnum


class Event(IntEnum):
    """Who records it, and what its value means, stands beside each."""

    CLIP_START = 1  # audio: the first sample of a clip was due
    SPEECH_END = 2  # audio: the end of speech in the clip is due; value: the clip's start, ns
    SPEECH_START = 3  # turn: voice activity began (at: the first voiced window)
    SILENCE = 4  # turn: end of the first silent window
    SOFT_END = 5  # turn: the pause is worth starting an answer on
    RESUME = 6  # turn: the user went on after a soft end
    RELEASE = 7  # turn: the turn is over, the answer may be heard
    DECODE_START = 8  # asr: the authoritative decode began; value: ms of speech
    COMMIT = 9  # asr: words are on the ring while the user speaks; value: ids so far
    FINAL = 10  # asr: the last id is on the ring; value: words
    PREFILL = 11  # llm: the prompt is in the cache; value: ids of this turn
    FIRST_ID = 12  # llm: the first id of the answer is on the ring
    LAST_ID = 13  # llm: the answer is complete; value: ids
    FIRST_SOUND = 14  # tts: the first block of sound is on the ring
    LAST_SOUND = 15  # tts: the last block is on the ring; value: blocks
    PLAY_START = 16  # audio: the first block is being played
    FIRST_AUDIO = 17  # audio: the first 10 ms at -50 dBFS or more are being played
    UNDERRUN = 18  # audio: there was nothing to play inside an answer; value: ns
    PLAY_END = 19  # audio: the last sample was played
    OUTCOME = 20  # turn: the turn has ended; value: Outcome
    VOICE_LATE = 21  # tts: the listener waited for sound of words that were known; value: ns
    HOLD = 22  # turn: a voice came over the answer, which waits for what it says
    GO_ON = 23  # turn: it brought no words, and the answer goes on
    INTERRUPT = 24  # turn: the answer was cut
    END_OF_TURN = 25  # turn: the model's word on the pause; value: probability of the end, permille
    DROPPED = 27  # llm: an answer became stale that was never to be heard; value: ids it had
    IDLE = 26  # turn: nobody has said anything for long
    FIRST_WORDS = 29  # tts: the words of the first sound are known: it can be made
    OPENED = 28  # audio: the first sample of the microphone was due (edge "file")
