"""The OpenAI Realtime protocol over one conversation."""
