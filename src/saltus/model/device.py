"""Stage `model`: which device a network runs on, and whether PyTorch is there.

On a CPU the kernel runs networks (`engine.py`). PyTorch is needed for training and for GPUs only; it comes with the
extra `train`, and nothing here imports it unless the machine may have a GPU.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from saltus.errors import ConfigurationError, InputError

DEVICES = ("auto", "cpu", "cuda")

GPU_FILES = ("nvidia[0-9]*", "nvhost-gpu", "nvgpu", "dxg", "kfd")
"""Files in /dev on Linux machines with a GPU that PyTorch calls cuda: NVIDIA's cards, Tegra, WSL, AMD."""

HIDDEN_GPUS = ("", "-1")
"""Values of CUDA_VISIBLE_DEVICES that hide all GPUs."""


def find_device(name: str) -> str:
    """cpu or cuda, for auto, cpu or cuda; a GPU that was asked for and is missing is an `InputError`.

    `auto` is the GPU if there is one and PyTorch is installed.
    """
    if name not in DEVICES:
        raise ConfigurationError(f"device is {name!r}, expected one of {', '.join(DEVICES)}")
    if name == "cuda":
        require_pytorch("device 'cuda'")
    if name == "cpu" or (name == "auto" and not may_have_gpu()):
        return "cpu"
    try:
        import torch
    except ModuleNotFoundError:
        return "cpu"
    if torch.cuda.is_available():
        return "cuda"
    if name == "cuda":
        raise InputError("device is 'cuda', but PyTorch finds no GPU")
    return "cpu"


def may_have_gpu(devices: Path = Path("/dev")) -> bool:
    """Whether it is worth asking PyTorch for a GPU, which takes a second; False is certain."""
    if os.environ.get("CUDA_VISIBLE_DEVICES") in HIDDEN_GPUS or sys.platform == "darwin":
        return False
    if sys.platform != "linux":
        return True
    return any(any(devices.glob(pattern)) for pattern in GPU_FILES)


def require_pytorch(purpose: str) -> None:
    """Imports PyTorch; a `ConfigurationError` names the extra if it is not installed."""
    try:
        import torch  # noqa: F401
    except ModuleNotFoundError as error:
        raise ConfigurationError(f"{purpose} needs PyTorch: pip install 'saltus[train]'") from error
