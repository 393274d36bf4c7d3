"""Who hears that a worker is to end: it, what it forks, and nobody else."""

from __future__ import annotations

import os
import signal

from durable import draining


def test_a_sigterm_of_its_own_is_heeded_for_a_block_and_a_second_one_does_what_it_did_before() -> None:
    ended: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, _: ended.append(number))
    try:
        with draining.heeding():
            assert not draining.on()
            os.kill(os.getpid(), signal.SIGTERM)
            assert (draining.on(), ended) == (True, [])
            os.kill(os.getpid(), signal.SIGTERM)
            assert ended == [signal.SIGTERM]
        assert not draining.on()
        os.kill(os.getpid(), signal.SIGTERM)
        assert ended == [signal.SIGTERM] * 2
    finally:
        signal.signal(signal.SIGTERM, before)


def test_the_word_reaches_the_forked_and_no_stranger() -> None:
    told, heard = os.pipe(), os.pipe()
    pid = os.fork()
    if pid == 0:
        os.read(told[0], 1)
        os.write(heard[1], b"1" if draining.on() else b"0")
        os._exit(0)
    draining.begin()
    os.write(told[1], b".")
    assert os.read(heard[0], 1) == b"1"
    os.waitpid(pid, 0)
    for end in (*told, *heard):
        os.close(end)
    draining.renew()
    assert not draining.on()
