"""Says of every name that there is none, and writes down which were asked for: `nameserver.py FILE`."""

import socket
import sys
from pathlib import Path

# RFC 1035, section 4.1: a header of twelve bytes, then the question: labels, each after its length.
HEADER_BYTES = 12
NO_SUCH_NAME = b"\x81\x83"


def name_of(query: bytes) -> str:
    labels, at = [], HEADER_BYTES
    while query[at]:
        labels.append(query[at + 1 : at + 1 + query[at]].decode(errors="replace"))
        at += 1 + query[at]
    return ".".join(labels)


def serve(log: Path) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server, log.open("a", buffering=1) as file:
        server.bind(("127.0.0.1", 53))
        file.write("ready\n")
        while True:
            query, asker = server.recvfrom(4096)
            file.write(f"{name_of(query)}\n")
            server.sendto(query[:2] + NO_SUCH_NAME + query[4:6] + bytes(6) + query[HEADER_BYTES:], asker)


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
