"""The binary protocol at /v1/voice (docs/voice-protocol.md)."""
