"""A run as one self-contained HTML page: no network, no script that is needed to read it."""
