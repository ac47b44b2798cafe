"""What the client and the runtime cost, beside a bare client and beside kubernetes_asyncio.

`loopback` serves ready-made bytes from a process of its own, so that only the client's CPU
is measured; `watching`, `writing`, `memory` and `working` each measure one thing three
ways, and `syncing` times a real API server. `figures` knows the targets and prints.
"""
