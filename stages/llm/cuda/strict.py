"""The same bits from run to run: whatever could choose an algorithm is told which one to take."""

import os

import torch

WORKSPACE = "CUBLAS_WORKSPACE_CONFIG"


def pin() -> None:
    """Fix what libraries choose by themselves; before the first computation on the GPU.

    Our own kernels have one order of sums each. This is for the products and the attention of a
    model that runs through transformers' forward: one workspace for cuBLAS, whose size decides how
    a sum is split, sums in full precision, and one backend of attention.
    """
    os.environ.setdefault(WORKSPACE, ":4096:8")
    torch.backends.cuda.preferred_blas_library("cublas")
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
    torch.backends.cuda.enable_flash_sdp(False)
    torch.backends.cuda.enable_cudnn_sdp(False)
    torch.backends.cuda.enable_mem_efficient_sdp(False)
    torch.backends.cuda.enable_math_sdp(True)
