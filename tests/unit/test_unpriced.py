"""What a plan says of parts without a price, and what does not fit for its generation or architecture."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planner.assembly import Machine, system_faults
from planner.caveats import unpriced_parts, unpriced_words
from planner.cores import Rejections
from planner.halves import populations
from planner.hardware import Chassis, Gpu, Quantity, System
from tests.unit import tiny

GPUS = [f"gpu{i}" for i in range(8)]
CASES = [f"case{i}" for i in range(3)]


def pricing_of() -> object:
    gpus: list[Gpu] = [tiny.gpu(id=name) for name in GPUS]
    cases: list[Chassis] = [tiny.chassis(id=name) for name in CASES]
    return tiny.pricing(parts=tiny.catalog(gpu=gpus, chassis=cases))


@pytest.mark.parametrize("count", [1, 6])
def test_few_parts_are_all_named(count: int) -> None:
    names = GPUS[:count]
    assert unpriced_words(names, pricing_of()) == ", ".join(names)  # type: ignore[arg-type]


def test_many_parts_are_counted_by_kind_and_some_named() -> None:
    words = unpriced_words([*GPUS, *CASES], pricing_of())  # type: ignore[arg-type]
    assert words.startswith("8 GPUs, such as gpu0, gpu1, gpu2; chassis case0, case1, case2. ")
    assert "gpu3" not in words and "'unpriced'" in words


def test_parts_come_in_the_order_met_without_whole_systems() -> None:
    system = System(
        id="whole", name="Whole", vendor="V", chassis="chassis", gpu="gpu", cpu="cpu",
        dimms=Quantity(part="dimm", count=2), boot=Quantity(part="boot", count=1),
    )  # fmt: skip
    rejected = Rejections()
    rejected.add_unpriced(["gpu", "whole", "dimm"])
    prices = tiny.pricing(parts=tiny.catalog(systems=[system]))
    assert unpriced_parts(rejected, prices) == ("gpu", "dimm")


def test_modules_of_another_generation_fit_no_channel() -> None:
    old = replace(tiny.DIMM, id="old", generation="ddr4")
    assert populations(tiny.chassis(), tiny.CPU, tiny.DIMM) == (2,)
    assert populations(tiny.chassis(), tiny.CPU, old) == ()
    assert populations(tiny.chassis(), replace(tiny.CPU, memory_generation="ddr4"), old) == (2,)


@pytest.mark.parametrize(("generation", "wrong"), [("ddr5", False), ("ddr4", True)])
def test_a_system_with_the_wrong_generation_is_refused(generation: str, wrong: bool) -> None:
    system = System(
        id="whole", name="Whole", vendor="V", chassis="chassis", gpu="gpu", cpu="cpu",
        dimms=Quantity(part="dimm", count=2), boot=Quantity(part="boot", count=1),
    )  # fmt: skip
    dimm = replace(tiny.DIMM, generation=generation)  # type: ignore[arg-type]
    machine = Machine(system, tiny.chassis(), tiny.gpu(), tiny.CPU, dimm, {}, {})
    machine = replace(machine, drives={"boot": tiny.drive("boot")})
    told = [text for key, text in system_faults(machine) if key == "dimms"]
    assert told == (["'dimm' is ddr4; 'cpu' takes ddr5"] if wrong else [])


def test_an_architecture_that_no_rule_names_is_refused_by_name() -> None:
    engine = tiny.engine()
    assert engine.architecture_fault("a") == ""
    told = "the profile of Engine 1 says nothing of gfx90a; it knows a"
    assert engine.kv_format_fault("bf16", "gqa", "gfx90a") == told
    assert engine.weight_format_fault("bf16", "gfx90a") == told
