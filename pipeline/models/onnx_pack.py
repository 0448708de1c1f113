"""Weights in the order in which the processor takes them, written beside a model: a program.

`python -P -m pipeline.models.onnx_pack MODEL OUT`. ONNX Runtime packs weights when it loads them,
into memory of its own. Packed once and written out, they are mapped from the file instead: shared
between programs, and the system may take them back and read them again. The order is that of this
processor.
"""

import sys
from pathlib import Path


def pack(model: Path, out: Path) -> None:
    """Write `model`, a model.onnx, as out/model.onnx with its weights packed."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # it warns of what is meant here: only for this processor
    options.optimized_model_filepath = str(out / "model.onnx")
    for key, value in {
        "session.optimized_model_external_initializers_file_name": "model.onnx.data",
        "session.optimized_model_external_initializers_min_size_in_bytes": "1024",
        "session.save_external_prepacked_constant_initializers": "1",
    }.items():
        options.add_session_config_entry(key, value)
    onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


if __name__ == "__main__":
    pack(Path(sys.argv[1]), Path(sys.argv[2]))
