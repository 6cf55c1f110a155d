"""Many streams on plain sockets that nobody reads."""

import re
import socket

from harness.client import post_bytes
from harness.server import Server


def open_parked(server: Server, fields: dict, n: int) -> list[socket.socket]:
    """Each is let in, says its first word, and is parked by its client; its slot is then for the next."""
    request = post_bytes("/completion", fields | {"stream": True})
    sockets = []
    for _ in range(n):
        connection = server.connect()
        sockets.append(connection)
        connection.sendall(request)
        received = b""
        while b"data: " not in received:
            received += connection.recv(4096)
        name = re.search(rb"x-request-id: (\S+)", received, re.IGNORECASE).group(1).decode()
        assert server.post(f"/requests/{name}/park").status == 200
    return sockets
