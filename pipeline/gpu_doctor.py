"""What a profile of an NVIDIA GPU says, for `voxring doctor --llm`."""

from collections.abc import Iterable

from pipeline.findings import Finding, Health, judged
from stages.llm.gpu_profile import GpuProfile

HEALTHY_GAP_US, BAD_GAP_US = 15, 50


def gpu_findings(gpu: GpuProfile) -> Iterable[Finding]:
    """Everything that is looked at, in the order of the report."""
    yield Finding("GPU", Health.GOOD, gpu.name)
    yield from _steps(gpu)
    yield from _timeline(gpu)
    yield from _bytes(gpu)
    yield from _card(gpu)


def _steps(gpu: GpuProfile) -> Iterable[Finding]:
    yield judged(
        "steps of the GPU",
        gpu.kind == "llama",
        gpu.kind,
        "this model runs through transformers' own operations, at about a third of the speed",
        "Choose a model that is built like Llama, and leave llm.cuda.kernels on",
    )
    yield judged(
        "first id on the GPU, cold and warm",
        gpu.cold_ms <= 2 * gpu.warm_ms + 2,
        f"{gpu.cold_ms:.1f} ms, then {gpu.warm_ms:.1f} ms; {gpu.next_ms:.2f} ms from id to id",
        "something is compiled or loaded in the first turn",
        "Run it again; if it stays, report it: the warm-up misses something",
        row="first-answer-slow",
    )
    yield judged(
        "memory that the GPU is asked for, per id",
        gpu.allocations < 0.5,
        f"{gpu.allocations:.1f} allocations",
        "steps are not recorded, so every operation asks for memory",
        "Leave llm.cuda.graphs on",
    )


def _timeline(gpu: GpuProfile) -> Iterable[Finding]:
    what = "gap between two kernels"
    if gpu.gap_us is None:
        yield Finding(what, Health.UNREAD, "the profiler recorded nothing (CUPTI)")
    else:
        yield judged(
            what,
            gpu.gap_us < HEALTHY_GAP_US,
            f"{gpu.gap_us:.1f} µs ({HEALTHY_GAP_US} is healthy, {BAD_GAP_US} is bad)",
            "the GPU waits for the host to launch its kernels one by one",
            "Leave llm.cuda.graphs on; if it is, other programs take this one's core",
        )
    what = "time in copies between host and GPU"
    if gpu.copied is None:
        yield Finding(what, Health.UNREAD, "the profiler recorded nothing (CUPTI)")
    else:
        yield judged(
            what,
            gpu.copied < 0.02,
            f"{gpu.copied:.1%}",
            "ids are copied instead of read where they are",
            "Set llm.cuda.ids_in to 'mapped'",
        )


def _bytes(gpu: GpuProfile) -> Iterable[Finding]:
    reached = gpu.read_bytes / gpu.next_ms / 1e6  # GB/s
    share = reached / gpu.copy_gb_s
    yield judged(
        "weights read, of what the GPU's memory can give",
        share >= 0.5 or gpu.read_bytes < 1e9,
        f"{reached:,.0f} of {gpu.copy_gb_s:,.0f} GB/s, {share:.0%}",
        "kernels are too small to fill the GPU, or wait for each other",
        "Leave llm.cuda.graphs, llm.cuda.kernels and llm.cuda.run_ahead on",
    )
    seen = "ncu is there: ncu --metrics lts__t_sector_hit_rate.pct" if gpu.has_ncu else "no ncu"
    yield Finding("hits in the L2 cache", Health.UNREAD, seen)


def _card(gpu: GpuProfile) -> Iterable[Finding]:
    why_not = "NVML does not tell (pip install nvidia-ml-py)"
    if gpu.clock_share is None:
        yield Finding("clock of the GPU", Health.UNREAD, why_not)
    else:
        yield judged(
            "clock of the GPU, of its highest",
            gpu.clock_share >= 0.7,
            f"{gpu.clock_share:.0%}",
            "the GPU saves power between ids, or is held back",
            "See the next line; nvidia-smi -q -d PERFORMANCE tells more",
        )
    if gpu.throttled is None:
        yield Finding("clock held back", Health.UNREAD, why_not)
    else:
        yield judged(
            "clock held back",
            not gpu.throttled,
            gpu.throttled or "no",
            "cooling or power of this machine",
            "Mend the cooling, or raise the power limit: nvidia-smi -pl WATTS",
            row="throttling",
        )
    if gpu.others is None:
        yield Finding("other programs on the GPU", Health.UNREAD, why_not)
    else:
        yield judged(
            "other programs on the GPU",
            gpu.others == 0,
            str(gpu.others),
            "the GPU switches between programs, which costs milliseconds at a time",
            "Set asr.device to 'cpu', the default, or end the others: nvidia-smi shows them",
            row="gpu-shared",
        )
