"""IRCv3 labeled-response: which command an answer answers."""

from support.network import Network

CAPS = "labeled-response batch echo-message message-tags"


def test_one_answer_carries_the_label():
    ori = Network().client("spark-ori", caps=CAPS)
    ori.send("@label=a PING x", "@label=b NOSUCH", "PING y")
    assert ori.lines() == [
        "@label=a :spark PONG spark :x",
        "@label=b :spark 421 spark-ori NOSUCH :Unknown command",
        ":spark PONG spark :y",
    ]


def test_that_a_line_cannot_be_read_is_an_answer():
    ori = Network().client("spark-ori", caps=f"{CAPS} standard-replies")
    ori.send("@label=a PRIVMSG spark-bo :" + "x" * 600, "@label=b;+t=" + "t" * 5000 + " PING x")
    ori.send_bytes(b"@label=c PRIVMSG spark-bo :a\rb\r\n@label=d PRIVMSG spark-bo :\xff\r\n@label=e \r\n")
    assert [line.rpartition(" :")[0] for line in ori.lines()] == [
        "@label=a :spark 417 spark-ori",
        # Where the tags are too long, so is the label.
        ":spark 417 spark-ori",
        "@label=c :spark FAIL * INVALID_LINE",
        "@label=d :spark FAIL PRIVMSG INVALID_UTF8",
        ":spark FAIL * INVALID_LINE",
    ]


def test_a_label_has_a_value():
    ori = Network().client("spark-ori", caps=f"{CAPS} draft/multiline")
    ori.send("@label= PING x", "@label PING y", "@label BATCH +1 draft/multiline spark-nobody")
    ori.send("@batch=1 PRIVMSG spark-nobody :hi", "@label= BATCH -1")
    assert ori.lines() == [
        ":spark PONG spark :x",
        ":spark PONG spark :y",
        ":spark 401 spark-ori spark-nobody :No such nick/channel",
    ]


def test_several_answers_come_in_a_batch():
    ori = Network().client("spark-ori", "#a", caps=CAPS)
    ori.send("PING before", "@label=x MODE #a", "PING after")
    assert ori.lines() == [
        ":spark PONG spark :before",
        "@label=x :spark BATCH +m2 labeled-response",
        "@batch=m2 :spark 324 spark-ori #a +nt",
        "@batch=m2 :spark 329 spark-ori #a 1000000",
        ":spark BATCH -m2",
        ":spark PONG spark :after",
    ]


def test_no_answer_is_acknowledged_and_an_echo_is_one():
    network = Network()
    ori, bo = network.client("spark-ori", caps=CAPS), network.client("spark-bo", caps="message-tags")
    ori.send("@label=a PONG x", "@label=b PRIVMSG spark-bo :hi")
    assert ori.lines() == [
        "@label=a :spark ACK",
        "@label=b;msgid=m1 :spark-ori!ori@spark PRIVMSG spark-bo :hi",
    ]
    assert bo.lines() == ["@msgid=m1 :spark-ori!ori@spark PRIVMSG spark-bo :hi"]


def test_of_a_message_to_oneself_only_the_echo_is_an_answer():
    network = Network()
    ori = network.client("spark-ori", caps=CAPS)
    ori.send("@label=a PRIVMSG SPARK-ori :note", "@label=b;+x=y TAGMSG spark-ori")
    assert ori.lines() == [
        "@msgid=m1 :spark-ori!ori@spark PRIVMSG spark-ori :note",
        "@label=a;msgid=m1 :spark-ori!ori@spark PRIVMSG spark-ori :note",
        "@msgid=m2;+x=y :spark-ori!ori@spark TAGMSG spark-ori",
        "@label=b;msgid=m2;+x=y :spark-ori!ori@spark TAGMSG spark-ori",
    ]
    bo = network.client("spark-bo", caps="labeled-response batch")
    bo.send("@label=a PRIVMSG spark-bo :note", "@label=b TAGMSG spark-bo", "NOTICE spark-bo :again")
    assert bo.lines() == [
        ":spark-bo!bo@spark PRIVMSG spark-bo :note",
        "@label=a :spark ACK",
        "@label=b :spark ACK",
        ":spark-bo!bo@spark NOTICE spark-bo :again",
    ]


def test_the_last_words_are_labeled_too():
    ori = Network().client("spark-ori", caps=CAPS)
    ori.send("@label=bye QUIT")
    assert ori.lines() == ["@label=bye ERROR :Closing Link: spark (Quit: )"]


def test_without_the_capability_a_label_means_nothing():
    ori = Network().client("spark-ori", caps="message-tags")
    ori.send("@label=a PING x")
    assert ori.lines() == [":spark PONG spark :x"]


def test_a_join_tells_more_to_those_who_asked():
    network = Network()
    bo = network.client("spark-bo", "#a", caps="extended-join")
    lea = network.client("spark-lea", "#a")
    bo.lines()
    network.client("spark-ori", "#a")
    assert bo.lines() == [":spark-ori!ori@spark JOIN #a * :spark-ori"]
    assert lea.lines() == [":spark-ori!ori@spark JOIN #a"]
