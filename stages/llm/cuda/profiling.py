"""What one turn of the language model shows on an NVIDIA GPU; it alters nothing there."""

import shutil
import time
from collections.abc import Sequence
from itertools import pairwise
from statistics import median
from typing import Any

import numpy as np
import torch

from stages.llm.gpu_profile import GpuProfile

HISTORY = 200  # ids at most
STEPS = 24
COPY_BYTES = 1 << 29

# NVML's reasons for a lowered clock that are somebody's business, by bit.
THROTTLED = {
    0x4: "power cap",
    0x8: "hardware slowdown",
    0x20: "heat",
    0x40: "heat",
    0x80: "power brake",
}


def take_gpu_profile(engine: Any) -> GpuProfile:
    """Let an engine answer on a lane of its own.

    Args:
        engine: of the transformers kind, on a GPU, with a free lane.
    """
    compute, model, lane = engine.compute, engine.model, -3
    ids = (np.arange(min(HISTORY, engine.context // 2)) % 90).astype(np.int32)
    engine.open(lane)
    engine.extend(lane, ids, 0)
    firsts = [_first_ms(engine, lane, len(ids)) for _ in range(3)]
    before = torch.cuda.memory_stats()["allocation.all.allocated"]
    began = time.perf_counter()
    for _ in range(STEPS):
        engine.step([lane])
    next_ms = (time.perf_counter() - began) / STEPS * 1e3
    clock_share, throttled, others = _state(compute.device)
    compute.synchronize()
    allocations = (torch.cuda.memory_stats()["allocation.all.allocated"] - before) / STEPS
    gap_us, copied = _timeline(engine, lane)
    engine.close(lane)
    return GpuProfile(
        name=torch.cuda.get_device_name(compute.device),
        kind=compute.kind,
        cold_ms=firsts[0],
        warm_ms=median(firsts[1:]),
        next_ms=next_ms,
        gap_us=gap_us,
        copied=copied,
        read_bytes=read_bytes(model),
        copy_gb_s=_copy_gb_s(compute.device),
        allocations=allocations,
        clock_share=clock_share,
        throttled=throttled,
        others=others,
        has_ncu=shutil.which("ncu") is not None,
    )


def read_bytes(model: Any) -> int:
    """Bytes that one decode step must read: every weight but the rows of an embedding."""
    table = model.get_input_embeddings().weight
    total = sum(p.numel() * p.element_size() for p in model.parameters())
    shared = model.get_output_embeddings().weight is table
    return int(total if shared else total - table.numel() * table.element_size())


def _first_ms(engine: Any, lane: int, length: int) -> float:
    engine.rollback(lane, length)
    engine.compute.synchronize()
    began = time.perf_counter()
    engine.extend(lane, np.array([5, 6], np.int32), length)
    engine.step([lane])
    return (time.perf_counter() - began) * 1e3


def _timeline(engine: Any, lane: int) -> tuple[float | None, float | None]:
    """Gap between kernels in µs, and the share of time in copies between host and device."""
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA]) as trace:
        for _ in range(4):
            engine.step([lane])
        engine.compute.synchronize()
    events = [e for e in trace.events() if e.device_type.name == "CUDA"]
    events.sort(key=lambda event: event.time_range.start)
    return measure_timeline([(e.name, e.time_range.start, e.time_range.end) for e in events])


def measure_timeline(
    events: Sequence[tuple[str, float, float]],
) -> tuple[float | None, float | None]:
    """Median gap between kernels, and the share of busy time in copies between host and device.

    Args:
        events: name, start and end in µs, in order.

    Returns:
        None, None of a timeline that was not recorded.
    """
    if len(events) < 2:
        return None, None
    gaps = [after[1] - before[2] for before, after in pairwise(events)]
    busy = sum(end - start for _, start, end in events)
    copies = [end - start for name, start, end in events if "HtoD" in name or "DtoH" in name]
    return median(gaps), sum(copies) / busy


def _copy_gb_s(device: torch.device) -> float:
    one = torch.empty(COPY_BYTES, dtype=torch.uint8, device=device)
    other = torch.empty_like(one)
    best = 0.0
    for _ in range(5):
        torch.cuda.synchronize(device)
        began = time.perf_counter()
        other.copy_(one)
        torch.cuda.synchronize(device)
        best = max(best, 2 * COPY_BYTES / (time.perf_counter() - began) / 1e9)
    return best


def _state(device: torch.device) -> tuple[float | None, str | None, int | None]:
    """Clock, its limits and other programs, from NVML."""
    try:
        import pynvml

        pynvml.nvmlInit()
        handle = pynvml.nvmlDeviceGetHandleByIndex(device.index or 0)
        now = pynvml.nvmlDeviceGetClockInfo(handle, pynvml.NVML_CLOCK_SM)
        highest = pynvml.nvmlDeviceGetMaxClockInfo(handle, pynvml.NVML_CLOCK_SM)
        reasons = pynvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle)
        programs = pynvml.nvmlDeviceGetComputeRunningProcesses(handle)
    except Exception:  # not installed, or a machine that does not tell: NVML has a class for each
        return None, None, None
    named = {name for bit, name in THROTTLED.items() if reasons & bit}
    return now / highest, ", ".join(sorted(named)), max(0, len(programs) - 1)
