"""Versions of the libraries that are installed."""

from functools import cache
from importlib import metadata


def version_of(package: str) -> str | None:
    """Version of a package, or of its variant for a device that brings the same module.

    `onnxruntime` may be there as `onnxruntime-gpu`.

    Returns:
        None if neither is installed.
    """
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        variants = _packages().get(package.replace("-", "_"), [])
        return metadata.version(variants[0]) if variants else None


@cache
def _packages() -> dict[str, list[str]]:
    """Names of packages by the modules they bring; it takes a tenth of a second."""
    return {module: list(names) for module, names in metadata.packages_distributions().items()}
