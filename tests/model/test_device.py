"""Which device a network runs on, with and without a GPU, with and without PyTorch."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from saltus.errors import ConfigurationError, InputError
from saltus.model.device import find_device, may_have_gpu, require_pytorch


@pytest.fixture
def gpu_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that looks as if it had a GPU."""
    monkeypatch.setattr("saltus.model.device.may_have_gpu", lambda: True)


@pytest.fixture
def no_pytorch(monkeypatch: pytest.MonkeyPatch) -> None:
    """An installation without PyTorch."""
    monkeypatch.setitem(sys.modules, "torch", None)


@pytest.mark.usefixtures("gpu_files")
def test_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_device("cpu") == "cpu"
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    assert find_device("auto") == "cpu"
    with pytest.raises(InputError, match="no GPU"):
        find_device("cuda")
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    assert (find_device("cpu"), find_device("auto"), find_device("cuda")) == ("cpu", "cuda", "cuda")
    with pytest.raises(ConfigurationError, match="expected one of auto, cpu, cuda"):
        find_device("tpu")


def test_pytorch_is_not_asked_where_there_is_no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("saltus.model.device.may_have_gpu", lambda: False)
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    assert find_device("auto") == "cpu"
    assert find_device("cuda") == "cuda"


@pytest.mark.usefixtures("gpu_files", "no_pytorch")
def test_without_pytorch_there_is_only_the_cpu() -> None:
    assert (find_device("cpu"), find_device("auto")) == ("cpu", "cpu")
    with pytest.raises(ConfigurationError, match=r"device 'cuda' needs PyTorch: pip install 'saltus\[train\]'"):
        find_device("cuda")
    with pytest.raises(ConfigurationError, match=r"training needs PyTorch: pip install 'saltus\[train\]'"):
        require_pytorch("training")


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not show GPUs as files")
@pytest.mark.parametrize("name", ["nvidia0", "nvhost-gpu", "dxg", "kfd"])
def test_gpus_show_as_files(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    (tmp_path / "nvidiactl").touch()
    assert not may_have_gpu(tmp_path)
    (tmp_path / name).touch()
    assert may_have_gpu(tmp_path)
    for hidden in ("", "-1"):
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", hidden)
        assert not may_have_gpu(tmp_path)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    assert may_have_gpu(tmp_path)
