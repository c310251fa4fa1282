"""Other programs that talk to agents, and what agents use of other programs."""

from __future__ import annotations

INTEROPERATION: dict[str, str] = {
    "chat.answers": "POST /v1/chat/completions answers as an agent, with its tokens and cost counted",
    "chat.stream": "a streamed answer is the protocol's events with keep-alive comments and no tool activity",
    "chat.agents": "GET /v1/models lists agents as project/agent; each is talked to with its own rights",
    "chat.headless": "what would ask a person is denied to a chat client",
    "chat.sessions": "X-Kaged-Session continues a session; without it a request starts one from its messages",
    "chat.refusals": "what an agent cannot serve is refused in the protocol's error shape",
    "chat.access": "a token names the agents that a chat client talks to",
    "chat.ends": "a client that leaves cancels its run; a run that fails is an error of the protocol",
}
