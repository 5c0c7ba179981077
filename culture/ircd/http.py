"""Recognise HTTP requests, which web pages can make a browser send to an IRC port.

A page that makes a browser POST to this server chooses the body of the request. If the server skipped the
request line and the headers as unknown commands, it would carry out the body for the user of the browser.
"""

from typing import Final

# The methods of RFC 9110 and RFC 5789, those of WebDAV (RFC 4918), and the preface of HTTP/2 (RFC 9113).
METHODS: Final = frozenset(
    {
        *(b"GET", b"HEAD", b"POST", b"PUT", b"DELETE", b"CONNECT", b"OPTIONS", b"TRACE", b"PATCH"),
        *(b"PROPFIND", b"PROPPATCH", b"MKCOL", b"COPY", b"MOVE", b"LOCK", b"UNLOCK", b"PRI"),
    }
)


def is_http_request(line: bytes) -> bool:
    """Return whether the line is, or begins as, the request line of an HTTP request."""
    words = line.upper().split(b" ")
    # A method that is not listed is known by the rest of the line: `REPORT /x HTTP/1.1`.
    return words[0] in METHODS or (len(words) == 3 and words[2].startswith(b"HTTP/"))
