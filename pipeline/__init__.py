"""Configuration, supervision, sessions, timeline, replay, and the Python API."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pipeline.config import Config, load_config
    from pipeline.errors import VoxringError
    from pipeline.events import (
        ClipEnded,
        DeviceNotice,
        Fault,
        ReplyText,
        Sound,
        TurnEnded,
        UserText,
    )
    from pipeline.pipeline import Pipeline
    from pipeline.timeline import Timeline

_HOMES = {
    "Config": "config",
    "load_config": "config",
    "VoxringError": "errors",
    "ClipEnded": "events",
    "DeviceNotice": "events",
    "Fault": "events",
    "ReplyText": "events",
    "Sound": "events",
    "TurnEnded": "events",
    "UserText": "events",
    "Pipeline": "pipeline",
    "Timeline": "timeline",
}
__all__ = [
    "ClipEnded",
    "Config",
    "DeviceNotice",
    "Fault",
    "Pipeline",
    "ReplyText",
    "Sound",
    "Timeline",
    "TurnEnded",
    "UserText",
    "VoxringError",
    "load_config",
]


def __getattr__(name: str) -> Any:
    """Import on first use: stage programs need the configuration, not the whole API."""
    if name not in _HOMES:
        raise AttributeError(f"module 'pipeline' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"pipeline.{_HOMES[name]}"), name)
