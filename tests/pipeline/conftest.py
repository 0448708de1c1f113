"""What tests of running pipelines share."""

from tests.pipeline.second_interpreter import second_interpreter

__all__ = ["second_interpreter"]
