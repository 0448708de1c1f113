"""The transformers engine on an NVIDIA GPU: kernels, graphs, and memory that both sides see."""
