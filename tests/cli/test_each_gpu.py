"""Every GPU of the catalogue can be shown, and fits a small model or is refused with its reason."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Command
from tests.unit.tiny import shelf

GPUS = shelf().catalog.gpus()
UNKNOWN_TO_ENGINES = {"gfx90a", "ascend910b", "ascend910c", "ascend950", "gaudi2", "gaudi3"}


@pytest.mark.parametrize("gpu", GPUS)
def test_gpu_is_shown(command: Command, gpu: str) -> None:
    done = command("catalog", "show", gpu)
    assert done.code == 0
    assert GPUS[gpu].name in done.out
    assert GPUS[gpu].architecture in done.out


@pytest.mark.parametrize("gpu", GPUS)
def test_gpu_fits_a_small_model_or_is_refused_with_its_architecture(command: Command, gpu: str) -> None:
    done = command("fit", "--model", "llama-3.1-8b", "--gpu", gpu, "--context", "8Ki tokens", "--layout", "tp1")
    architecture = GPUS[gpu].architecture
    if architecture in UNKNOWN_TO_ENGINES:
        assert done.code != 0
        assert f"says nothing of {architecture}; it knows" in done.err
    else:
        assert done.code == 0, done.err
        assert "Llama-3.1-8B" in done.out
