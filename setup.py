"""What is written in C, built once for every Python from 3.11 (the stable ABI).

`ringbuf._core` is the core of the rings; `stages.audio.device._port` is the callback of a sound
device, which may not wait for Python.

Everything else about the package is in pyproject.toml.
"""

from setuptools import Extension, setup


def extension(name: str, source: str, *depends: str) -> Extension:
    """A C11 file of the stable ABI."""
    return Extension(
        name,
        [source],
        depends=list(depends),
        extra_compile_args=["-std=c11", "-O2", "-Wall", "-Wextra"],
        define_macros=[("Py_LIMITED_API", "0x030B0000")],
        py_limited_api=True,
    )


setup(
    ext_modules=[
        extension("ringbuf._core", "ringbuf/_core.c", "ringbuf/_ring.h"),
        extension("stages.audio.device._port", "stages/audio/device/_port.c"),
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
