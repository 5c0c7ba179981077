"""One thing at a time, in order, and what is left when there will be no more."""

import asyncio

from culture.agent.backends.jobs import Job, Jobs, Kind


async def test_one_is_begun_when_the_one_before_is_done():
    jobs = Jobs()
    first, second = Job(Kind.PROMPT, "one"), Job(Kind.COMPACT)
    jobs.add(first)
    jobs.add(second)

    assert await jobs.begin() == first
    waiting = asyncio.create_task(jobs.begin())
    await asyncio.sleep(0)
    assert not waiting.done()

    assert jobs.end() == first
    assert await waiting == second
    assert jobs.current == second


async def test_none_is_begun_while_the_backend_does_something_else():
    jobs = Jobs()
    waiting = asyncio.create_task(jobs.begin())
    await asyncio.sleep(0)

    jobs.hold()
    jobs.add(Job(Kind.CLEAR))
    await asyncio.sleep(0)
    assert not waiting.done()

    assert jobs.end() is None
    assert await waiting == Job(Kind.CLEAR)


async def test_what_is_given_up_is_what_was_begun_and_what_waits():
    jobs = Jobs()
    asked = [Job(Kind.PROMPT, "one"), Job(Kind.PROMPT, "two"), Job(Kind.COMPACT), Job(Kind.CLEAR)]
    for job in asked:
        jobs.add(job)
    await jobs.begin()

    left = jobs.give_up()

    assert left == asked
    assert [job.failed("gone")["type"] for job in left] == ["result", "result", "context", "context"]
    assert [job.failed("gone")["did"] for job in left[2:]] == ["compacted", "cleared"]
    assert all(job.failed("gone")["failed"] for job in left)
    assert jobs.give_up() == []
