"""The protocol of chat completions, so that other programs talk to agents."""
