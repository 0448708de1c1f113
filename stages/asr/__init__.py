"""Speech to the language model's token ids."""
