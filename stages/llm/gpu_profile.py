"""What one turn of the language model shows on an NVIDIA GPU, as numbers."""

from dataclasses import dataclass


@dataclass(frozen=True)
class GpuProfile:
    """What a GPU did; None: it could not be read.

    Attributes:
        name: of the GPU.
        kind: of the engine's steps: our kernels, or transformers' forward and why.
        cold_ms: the first first id after a start.
        warm_ms: a later one.
        next_ms: from id to id.
        gap_us: between two kernels of a step, median.
        copied: share of a step's device time in copies between host and device.
        read_bytes: of weights, for each id.
        copy_gb_s: bytes read and written by a large copy.
        allocations: on the device, for each id.
        clock_share: of the highest clock, while it worked.
        throttled: why its clock was lowered; "" for no reason.
        others: other programs that hold memory of the GPU.
        has_ncu: Nsight Compute is installed, which alone can read the rate of hits in L2.
    """

    name: str
    kind: str
    cold_ms: float
    warm_ms: float
    next_ms: float
    gap_us: float | None
    copied: float | None
    read_bytes: int
    copy_gb_s: float
    allocations: float
    clock_share: float | None
    throttled: str | None
    others: int | None
    has_ncu: bool
