"""Token ids to token ids: the conversation lives in the KV cache."""
