import os
import socket
from pathlib import Path

import pytest

from culture.config.address import TcpAddress, UnixAddress
from culture.ctl.up.listening import close_listener, listen, process_listening_on
from culture.errors import UnavailableError


def test_a_taken_port_is_said_with_who_has_it_and_what_to_type():
    with socket.create_server(("127.0.0.1", 0)) as holder:
        port = holder.getsockname()[1]

        with pytest.raises(UnavailableError) as refused:
            listen(TcpAddress("127.0.0.1", port))

    name = Path("/proc/self/comm").read_text().strip()
    assert str(refused.value) == f"port {port} is in use by {name} (process {os.getpid()})"
    assert f"--port {port + 1}" in str(refused.value.hint)


def test_a_free_port_has_no_holder():
    with socket.create_server(("127.0.0.1", 0)) as held:
        port = held.getsockname()[1]

    assert process_listening_on(port) is None


def test_a_socket_file_goes_away_with_its_listener(tmp_path):
    listener = listen(UnixAddress(str(tmp_path / "ipc.sock")))

    close_listener(listener)

    assert list(tmp_path.iterdir()) == []
