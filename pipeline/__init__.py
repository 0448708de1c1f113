"""Configuration, supervision, sessions, timeline, replay, and the Python API."""
