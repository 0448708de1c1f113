"""The C core of ringbuf, built once for every Python from 3.11 (the stable ABI).

Everything else about the package is in pyproject.toml.
"""

from setuptools import Extension, setup

setup(
    ext_modules=[
        Extension(
            "ringbuf._core",
            ["ringbuf/_core.c"],
            depends=["ringbuf/_ring.h"],
            extra_compile_args=["-std=c11", "-O2", "-Wall", "-Wextra"],
            define_macros=[("Py_LIMITED_API", "0x030B0000")],
            py_limited_api=True,
        )
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
