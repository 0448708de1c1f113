"""VITS in three graphs, so that a sentence sounds while its text is still being written.

phonemes ─ text ─▶ durations and prior ─ noise ─▶ latents ─ flow ─▶ frames ─ decoder ─▶ samples
"""
