"""Small ONNX models in the program that must never be late: few threads, none that spins."""

from pathlib import Path

import onnxruntime

from pipeline.errors import ModelError


def load_onnx(path: Path, what: str, remedy: str, threads: int) -> onnxruntime.InferenceSession:
    """Load a model for the CPU.

    Args:
        path: the ONNX file.
        what: the model is, for messages.
        remedy: what to do if it is not there.
        threads: of one call.

    Raises:
        ModelError: the file is missing, or is no ONNX model.
    """
    if not path.is_file():
        raise ModelError(f"no {what} at {path}", remedy)
    return open_onnx(str(path), str(path), remedy, threads)


def open_onnx(
    model: str | bytes, name: str, remedy: str, threads: int
) -> onnxruntime.InferenceSession:
    """Load a model for the CPU.

    Args:
        model: path of the ONNX file, or what it holds.
        name: what to call it.

    Raises:
        ModelError: it is no ONNX model.
    """
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 4  # its warnings are about the graph, not about us
    try:
        return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # the library's own errors share no other base
        raise ModelError(f"{name} cannot be loaded: {error}", remedy) from error
