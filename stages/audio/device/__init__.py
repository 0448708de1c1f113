"""The sound devices of this machine as an edge."""
