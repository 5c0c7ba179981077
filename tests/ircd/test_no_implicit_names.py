"""IRCv3 no-implicit-names: joining without the list of who is there."""

import pytest
from support.network import Network


@pytest.mark.parametrize("cap", ["no-implicit-names", "draft/no-implicit-names"])
def test_a_join_tells_no_names_but_a_question_does(cap: str):
    network = Network()
    network.client("spark-ori", "#a").send("TOPIC #a :work")
    bo = network.client("spark-bo", caps=cap)
    bo.send("JOIN #a")
    assert bo.numerics() == ["JOIN", "332", "333"]
    bo.send("NAMES #a")
    assert bo.lines() == [
        ":spark 353 spark-bo = #a :@spark-ori spark-bo",
        ":spark 366 spark-bo #a :End of /NAMES list",
    ]
