"""What an agent reads, and reads once."""

from culture.agent.inbox.buffers import MAX_CONVERSATIONS, BufferedLine, Buffers
from culture.store.agent.read_marks import Mark


def fill(buffers: Buffers, conversation: str, *texts: str) -> None:
    for text in texts:
        buffers.add(conversation, BufferedLine("2026-01-01T00:00:00Z", "spark-ori", text))


def texts(reading) -> list[str]:
    return [line.text for line in reading.lines]


def test_a_line_is_read_once():
    buffers = Buffers(10)
    fill(buffers, "#ops", "one", "two")

    assert texts(buffers.read("#OPS", 50)) == ["one", "two"]
    assert texts(buffers.read("#ops", 50)) == []
    fill(buffers, "#Ops", "three")
    assert texts(buffers.read("#ops", 50)) == ["three"]


def test_a_limit_leaves_the_rest_for_the_next_time():
    buffers = Buffers(10)
    fill(buffers, "#ops", "one", "two", "three")

    first = buffers.read("#ops", 2)
    assert (texts(first), first.left) == (["one", "two"], 1)
    assert texts(buffers.read("#ops", 2)) == ["three"]


def test_what_was_pushed_out_unread_is_counted():
    buffers = Buffers(2)
    fill(buffers, "#ops", "one", "two", "three", "four", "five")

    reading = buffers.read("#ops", 50)
    assert (texts(reading), reading.missed) == (["four", "five"], 3)
    assert buffers.read("#ops", 50).missed == 0


def test_channels_do_not_mix():
    buffers = Buffers(10)
    fill(buffers, "#ops", "one")
    fill(buffers, "spark-ori", "two")

    assert texts(buffers.read("spark-ori", 50)) == ["two"]
    assert buffers.read("#nowhere", 50).lines == ()


def test_strangers_cannot_fill_the_memory():
    buffers = Buffers(10)
    for number in range(MAX_CONVERSATIONS + 10):
        fill(buffers, f"nick{number}", "hello")
        fill(buffers, "#ops", "busy")

    assert buffers.read("nick0", 50).lines == ()
    assert len(buffers.read("#ops", 50).lines) == 10


def test_it_tells_how_far_was_read():
    told: list[tuple[str, Mark]] = []
    buffers = Buffers(2, on_read=lambda name, mark: told.append((name, mark)))
    for number in range(3):
        buffers.add("#ops", BufferedLine(f"t{number}", "spark-ori", "hi"), f"m{number}")

    buffers.read("#ops", 1)
    buffers.read("#ops", 5)
    buffers.read("#ops", 5)
    buffers.read("#elsewhere", 5)

    assert told == [("#ops", Mark("m1", "t1")), ("#ops", Mark("m2", "t2"))]
