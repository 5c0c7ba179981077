"""One thing at a time, in order, and what is left when there will be no more."""

import asyncio

from culture.agent.backends.jobs import Job, JobKind, Jobs
from culture.agent.contract import ContextChanged, Result


async def test_one_is_begun_when_the_one_before_is_done():
    jobs = Jobs()
    first, second = Job(JobKind.PROMPT, "one"), Job(JobKind.COMPACT)
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
    jobs.add(Job(JobKind.CLEAR))
    await asyncio.sleep(0)
    assert not waiting.done()

    assert jobs.end() is None
    assert await waiting == Job(JobKind.CLEAR)


async def test_what_is_given_up_is_what_was_begun_and_what_waits():
    jobs = Jobs()
    asked = [Job(JobKind.PROMPT, "one"), Job(JobKind.PROMPT, "two"), Job(JobKind.COMPACT), Job(JobKind.CLEAR)]
    for job in asked:
        jobs.add(job)
    await jobs.begin()

    left = jobs.give_up()

    assert left == asked
    assert [type(job.failed("gone")) for job in left] == [Result, Result, ContextChanged, ContextChanged]
    assert [job.failed("gone").did for job in left[2:]] == ["compacted", "cleared"]
    assert all(job.failed("gone").failed for job in left)
    assert jobs.give_up() == []
