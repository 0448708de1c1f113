"""Token ids to sound, while they arrive."""
