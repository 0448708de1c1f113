"""The websocket endpoint: an edge of the pipeline for clients on the network.

    server.py      listens, admits, hands each connection to its protocol, drains
    admission.py   who may come in: origin, token or ticket, a free place
    peer.py        one connection as a protocol sees it: bounded, in both directions
    session.py     what one connection owns: its conversation, its limits, its name
    voice/         the binary protocol at /v1/voice
    realtime/      the OpenAI Realtime protocol at /v1/realtime
    page/          the web page at /

A protocol is one coroutine, `serve(peer, session)`, in `handler.py` of its package (`Protocol` in
session.py says what it may rely on). The package `websockets` is needed; `voxring[serve]` has it.
"""
