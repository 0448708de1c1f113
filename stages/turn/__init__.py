"""Who speaks: voice activity, end of turn, the number of the answer that counts."""
