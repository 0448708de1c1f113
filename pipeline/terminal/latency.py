"""Where the time of a turn went, in a few words: pure."""

from pipeline.timeline import Timeline

SHORT = {
    "silence": "silence",
    "transcript": "words",
    "first_id": "first id",
    "first_words": "first words",
    "release": "turn over",
    "first_sound": "sound",
}


def in_short(timeline: Timeline) -> tuple[str, str]:
    """First-audio latency, and what came before it, ms after the end of speech; "" without sound.

    A "~" marks an end of speech that is the detector's estimate, and not the clip's own.
    """
    phases = timeline.phases
    if "first_audio" not in phases:
        return "", ""
    about = "~" if timeline.speech_end_source == "vad" else ""
    parts = [f"{SHORT[name]} {at:.0f}" for name, at in phases.items() if name in SHORT]
    if timeline.first_audio_ms is None:
        parts.append("does not count")
    return f"{about}{phases['first_audio']:.0f} ms", " · ".join(parts)
