"""A conversation on a terminal: what `voxring talk` shows, and the keys that it knows."""
