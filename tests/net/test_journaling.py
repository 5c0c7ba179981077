"""What the core noted is in the journal, with the fields that it can be asked by."""

import pytest

from culture.ircd.recording.audit import AuditNote
from culture.net.audit_log import log_notes
from culture.systemd.journal import MESSAGE_IDS


def test_an_entry_has_its_kind_and_the_fields_that_are_known(caplog: pytest.LogCaptureFixture):
    caplog.set_level("INFO")
    log_notes(
        [
            AuditNote("login-succeeded", "ori (x) is logged in as 'ori'", "x", "ori", "ori", "PLAIN"),
            AuditNote("operator-refused", "x did not become an operator", "x"),
        ]
    )
    succeeded, refused = caplog.records
    assert (succeeded.levelname, refused.levelname) == ("INFO", "WARNING")
    assert succeeded.getMessage() == "ori (x) is logged in as 'ori'"
    told = {name: value for name, value in vars(succeeded).items() if name.isupper()}
    assert told == {
        "MESSAGE_ID": MESSAGE_IDS["login-succeeded"],
        "CULTURE_NICK": "ori",
        "CULTURE_PEER": "x",
        "CULTURE_ACCOUNT": "ori",
        "CULTURE_MECHANISM": "PLAIN",
    }
    assert not hasattr(refused, "CULTURE_NICK")
