"""Where the server listens: passed sockets, configured ones, and what is in the way."""

import socket
from pathlib import Path

import pytest

from culture.errors import UnavailableError
from culture.net.listen.listeners import FOR_THE_OWNER, address_of, listening


def test_a_passed_address_is_not_opened_again():
    with socket.create_server(("127.0.0.1", 0)) as passed:
        port = passed.getsockname()[1]
        for text in (f"127.0.0.1:{port}", f"localhost:{port}"):
            with listening((text,), [passed]) as listeners:
                assert listeners == [passed]


def test_a_taken_port_is_named_with_how_to_find_out():
    with socket.create_server(("127.0.0.1", 0)) as holder:
        port = holder.getsockname()[1]
        with pytest.raises(UnavailableError) as refused, listening((f"127.0.0.1:{port}",), []):
            pass
    assert str(refused.value) == f"cannot listen on 127.0.0.1:{port}: Address already in use"
    assert refused.value.hint == f"ss -tlnp 'sport = :{port}'"


def test_a_socket_file_of_a_crash_is_replaced_and_gone_afterwards(tmp_path: Path):
    path = tmp_path / "s"
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    with listening((f"unix:{path}",), []) as listeners:
        assert str(address_of(listeners[0])) == f"unix:{path}"
        assert path.stat().st_mode & 0o777 == 0o660
    assert not path.exists()


def test_a_socket_can_be_for_its_owner_alone(tmp_path: Path):
    path = tmp_path / "s"
    with listening((f"unix:{path}",), [], unix_mode=FOR_THE_OWNER):
        assert path.stat().st_mode & 0o777 == 0o600


def test_a_live_socket_or_another_file_is_left_alone(tmp_path: Path):
    path, file = tmp_path / "s", tmp_path / "f"
    file.write_text("mine")
    for taken in (path, file):
        refused = pytest.raises(UnavailableError, match="already in use")
        with listening((f"unix:{path}",), []), refused, listening((f"unix:{taken}",), []):
            pass
    assert file.read_text() == "mine"


def test_what_was_opened_before_a_failure_is_closed(tmp_path: Path):
    path = tmp_path / "s"
    with socket.create_server(("127.0.0.1", 0)) as holder:
        addresses = (f"unix:{path}", f"127.0.0.1:{holder.getsockname()[1]}")
        with pytest.raises(UnavailableError), listening(addresses, []):
            pass
    assert not path.exists()
