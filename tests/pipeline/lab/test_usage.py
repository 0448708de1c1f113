"""CPU and memory over time."""

import os
import subprocess
import sys
import time

import numpy as np

from pipeline.lab.peaks import pack, peaks, unpack
from pipeline.lab.usage import EVERY_S, MOST, Sampler


def test_a_program_is_sampled_until_it_is_gone() -> None:
    spin = "while True: pass"
    with subprocess.Popen([sys.executable, "-c", spin]) as program:
        now = 0.0
        sampler = Sampler(lambda: {"spin": program.pid, "own": os.getpid()}, lambda: now)
        sampler.sample()
        end = time.process_time() + 0.05  # ours too has something to show
        while time.process_time() < end:
            pass
        now = 0.05
        sampler.sample()
        program.kill()
        program.wait()
        now = 0.1
        sampler.sample()
    usage = sampler.usage()
    assert usage.at_s == [0.0, 0.05, 0.1]
    assert usage.cpu_percent["spin"][0] is None, "a first look has nothing to compare with"
    assert usage.cpu_percent["spin"][2] is None, "it is gone"
    own = usage.cpu_percent["own"][1]
    assert own is not None
    assert own >= 80
    assert (usage.memory_mib["own"][1] or 0) > 10


def test_a_program_that_was_started_again_is_a_new_one() -> None:
    pids = {"asr": os.getpid()}
    now = 0.0
    sampler = Sampler(lambda: pids, lambda: now)
    sampler.sample()
    pids["asr"] = os.getppid()
    now = 1.0
    sampler.sample()
    assert sampler.usage().cpu_percent == {}, "no figure out of two programs"


def test_a_long_run_leaves_a_bounded_number_of_samples() -> None:
    now = 0.0
    sampler = Sampler(lambda: {"own": os.getpid()}, lambda: now)
    for _ in range(3 * MOST):
        sampler.sample()
        now += sampler.every_s
    usage = sampler.usage()
    assert MOST / 2 < len(usage.at_s) <= MOST
    assert sampler.every_s > EVERY_S
    steps = np.diff(usage.at_s)
    assert (steps > 0).all()
    assert len(usage.cpu_percent["own"]) == len(usage.at_s)


def test_peaks_are_the_loudest_of_each_part() -> None:
    sound = np.zeros(1000, np.int16)
    sound[150], sound[990] = -32768, 16384
    found = peaks(sound, 10)
    assert found.tolist() == [0, 255, 0, 0, 0, 0, 0, 0, 0, 128]
    assert unpack(pack(found)).tolist() == found.tolist()


def test_peaks_of_little_and_of_nothing() -> None:
    assert peaks(np.zeros(0, np.int16), 10).tolist() == []
    assert peaks(np.array([32767, 0], np.int16), 10).tolist() == [255, 0]
    assert len(peaks(np.ones(12_345, np.int16), 100)) == 100
