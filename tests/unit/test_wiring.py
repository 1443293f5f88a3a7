"""Wiring in catalogue files: every kind of fault, with its place and the nearest right word."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner.errors import InputError, Problem
from planner.loading import load_shelf

ROOT = Path(__file__).parents[2]
WIRING = """\
kind: topology
id: t
name: T
source: xe-map
sockets: 2
socket_link: 100 GB/s
switches:
  - {name: psb1..2, at: cpu0, link: Gen5 x16}
  - {name: [psb3, psb4], at: cpu1, link: Gen5 x16}
gpus:
  - {at: psb1..4, count: 8, link: Gen5 x16}
drives:
  - {at: psb1..4, link: Gen5 x4}
nics:
  - {at: cpu0..1, link: 63 GB/s}
"""


def faults(folder: Path, text: str, name: str = "x.yaml") -> list[Problem]:
    (folder / name).write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as fault:
        load_shelf([folder])
    return list(fault.value.problems)


def test_ranges_and_lists_of_names(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text(WIRING, encoding="utf-8")
    made = load_shelf([tmp_path]).catalog.topologies["t"]
    assert list(made.parents) == ["psb1", "psb2", "psb3", "psb4"]
    assert made.gpus[0].each == ("psb1", "psb2", "psb3", "psb4") * 2
    assert made.nics[0].link_bytes_per_s == 63 * 10**9


CHANGES = {
    "unknown place": (
        "{at: psb1..4, count",
        "{at: pbs1, count",
        "unknown processor or switch 'pbs1'",
        "'psb1'",
        11,
        10,
    ),
    "no such socket": (
        "at: cpu1, link",
        "at: cpu2, link",
        "switch 'cpu2' in 't'",
        "did you mean 'cpu",
        9,
        30,
    ),
    "negative lanes": ("link: Gen5 x4", "link: Gen5 x-4", "at least one lane", "", 13, 25),
    "unknown generation": ("link: Gen5 x4", "link: Gen7 x4", "unknown generation", "", 13, 25),
    "no unit": ("link: 63 GB/s", "link: 63", "has no unit", "", 15, 25),
    "no path": ("name: psb1..2, at: cpu0", "name: psb1..2, at: psb2", "no path from 'psb1' to a processor", "", 8, 25),
    "no path between sockets": ("socket_link: 100 GB/s\n", "", "no path between the 2 sockets", "'socket_link'", 5, 10),
    "twice": ("[psb3, psb4]", "[psb3, psb1]", "the switch 'psb1' stands twice", "", 9, 12),
    "name that is taken": ("[psb3, psb4]", "[gpu0, psb4, psb3]", "'gpu0' is no name for a switch", "", 9, 12),
    "range that falls": ("at: cpu0..1", "at: cpu1..0", "a range that rises", "", 15, 10),
    "no name": ("at: cpu0..1", "at: []", "expected names", "", 15, 10),
    "unknown key": ("count: 8", "cuont: 8", "unknown key 'cuont'", "did you mean 'count'", 11, 19),
    "unknown source": ("source: xe-map", "source: xe-mapp", "unknown source 'xe-mapp'", "'xe-map'", 4, 9),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=list(CHANGES))
def test_fault_of_a_wiring(tmp_path: Path, change: tuple[str, str, str, str, int, int]) -> None:
    old, new, message, hint, line, column = change
    assert old in WIRING
    found = faults(tmp_path, WIRING.replace(old, new))[0]
    assert message in found.message and hint in found.hint
    assert (Path(found.file).name, found.line, found.column) == ("x.yaml", line, column)


def test_every_width_needs_evidence(tmp_path: Path) -> None:
    found = faults(tmp_path, WIRING.replace("source: xe-map\n", ""))
    assert len(found) == 8 and all("has no source" in problem.message for problem in found)


CHASSIS = (ROOT / "catalog" / "chassis" / "dell-xe9680.yaml").read_text(encoding="utf-8")
NAMED = next(line for line in CHASSIS.splitlines() if line.startswith("topology:"))


@pytest.mark.parametrize(
    ("new", "message", "hint"),
    [
        ("topology: oem-hgx-4swich", "unknown topology 'oem-hgx-4swich'", "did you mean 'oem-hgx-4switch'"),
        ("topology: azure-ndv5", "a guest's view", "read on the machine itself"),
        ("topology: r7725xd", "no place for the 8 gpus", "add 'gpus'"),
        ("", "nothing says how the inside of 'dell-xe9680' is wired", "'uplinks' (how many) and 'uplink'"),
        ("uplinks: {value: 4, source: xe-map}", "nothing says how the inside", "'uplink' (the width of one)"),
        (f"{NAMED}\nuplinks: {{value: 4, source: xe-map}}", "stand beside 'topology'", "remove them"),
        ("cpus: {value: 1, source: xe-map}", "has 2 sockets, the chassis 1 processors", "correct one"),
    ],
)
def test_fault_between_chassis_and_wiring(tmp_path: Path, new: str, message: str, hint: str) -> None:
    text = CHASSIS.replace(NAMED, new)
    if new.startswith("cpus"):
        text = CHASSIS.replace("cpus: {value: 2, source: dell-xe9680}", new)
    found = faults(tmp_path, text)
    assert any(message in problem.message and hint in problem.hint and problem.line for problem in found), found


def test_one_file_holds_a_chassis_and_its_wiring(tmp_path: Path) -> None:
    entries = [WIRING, CHASSIS.replace("id: dell-xe9680", "id: mine").replace(NAMED, "topology: t")]
    lines = ["parts:"]
    for entry in entries:
        body = [line for line in entry.splitlines() if not line.startswith("#")]
        lines += [f"  - {body[0]}", *(f"    {line}" for line in body[1:])]
    (tmp_path / "mine.yaml").write_text("\n".join(lines) + "\n", encoding="utf-8")
    chassis = load_shelf([tmp_path]).catalog.chassis()["mine"]
    assert chassis.inside is not None and chassis.inside.id == "t"
