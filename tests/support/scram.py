"""The client's side of SCRAM-SHA-256 (RFC 5802 section 3), written apart from the server's."""

import base64
import hashlib
import hmac


class ScramClient:
    def __init__(self, name: str, password: str, nonce: str = "rOprNGfwEbeRWgbNEkqO") -> None:
        self._password = password
        self._nonce = nonce
        self._bare = f"n={name.replace('=', '=3D').replace(',', '=2C')},r={nonce}"
        self.server_signature = b""

    def first(self, gs2: str = "n,,") -> bytes:
        return f"{gs2}{self._bare}".encode()

    def final(self, challenge: bytes, gs2: str = "n,,") -> bytes:
        fields = dict(part.split("=", 1) for part in challenge.decode().split(","))
        assert fields["r"].startswith(self._nonce)
        assert fields["r"] != self._nonce
        salt, iterations = base64.b64decode(fields["s"]), int(fields["i"])
        salted = hashlib.pbkdf2_hmac("sha256", self._password.encode(), salt, iterations)
        without_proof = f"c={base64.b64encode(gs2.encode()).decode()},r={fields['r']}"
        signed = ",".join([self._bare, challenge.decode(), without_proof]).encode()
        client_key = hmac.digest(salted, b"Client Key", "sha256")
        signature = hmac.digest(hashlib.sha256(client_key).digest(), signed, "sha256")
        proof = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
        server_key = hmac.digest(salted, b"Server Key", "sha256")
        self.server_signature = hmac.digest(server_key, signed, "sha256")
        return f"{without_proof},p={base64.b64encode(proof).decode()}".encode()

    def is_server(self, final: bytes) -> bool:
        """Whether the other end knows the password too."""
        return final == b"v=" + base64.b64encode(self.server_signature)
