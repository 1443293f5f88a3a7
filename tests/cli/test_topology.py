"""``catalog topology``: tables, drawings, and what it refuses."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tests.cli.conftest import Command

SVG = "{http://www.w3.org/2000/svg}"


def test_table_and_json_agree(command: Command) -> None:
    table = command("catalog", "topology", "dell-xe9680").out
    assert "4 uplinks of 63 GB/s shared by 8 GPUs" in table
    assert "one x16 per switch board; not read" in table
    data = json.loads(command("catalog", "topology", "dell-xe9680", "-f", "json").out)
    rows = {row["movement"]: row for row in data["movements"]}
    assert (rows["dram-gpus"]["bytes_per_s"], rows["dram-gpus"]["alone_bytes_per_s"]) == (252 * 10**9, 63 * 10**9)
    assert len(rows) == 9 and data["topology"] == "oem-hgx-4switch"


def test_chosen_parts(command: Command) -> None:
    words = ("--drive", "samsung-pm1743-7.68tb", "--drives", "2", "--nic", "cx7-400", "--nics", "4", "--dimms", "16")
    data = json.loads(command("catalog", "topology", "dell-xe9680", *words, "-f", "json").out)
    rows = {row["movement"]: row for row in data["movements"]}
    assert rows["drives-dram"]["limited_by"] == "2 drives reading 14 GB/s"
    assert rows["nics-dram"]["limited_by"] == "4 cards of 50 GB/s"
    assert data["memory_bytes_per_s_per_socket"] == 8 * 4800 * 10**6 * 8


def test_one_movement_of_a_system(command: Command) -> None:
    data = json.loads(command("catalog", "topology", "dgx-h200", "--movement", "drives-dram", "-f", "json").out)
    assert [row["limited_by"] for row in data["movements"]] == ["8 drives reading 6.8 GB/s"]


def test_svg_marks_the_cut(command: Command, tmp_path: Path) -> None:
    command("catalog", "topology", "dell-xe9680", "-o", str(tmp_path / "inside.svg"))
    page = ET.fromstring((tmp_path / "inside.svg").read_text(encoding="utf-8"))
    thick = [line for line in page.iter(f"{SVG}line") if line.get("stroke-width") == "4"]
    texts = [text.text for text in page.iter(f"{SVG}text")]
    assert len(thick) == 4
    assert "all at once 252 GB/s: 4 uplinks of 63 GB/s shared by 8 GPUs (red)" in texts
    assert {"cpu0", "psb4", "2 GPUs"} <= set(texts)


def test_markdown_holds_a_drawing(command: Command, tmp_path: Path) -> None:
    command("catalog", "topology", "dgx-h200", "--movement", "both", "-o", str(tmp_path / "inside.md"))
    text = (tmp_path / "inside.md").read_text(encoding="utf-8")
    drawing = text.split("```mermaid\n")[1].split("```")[0]
    wires = [line for line in drawing.splitlines() if "---" in line]
    (cut,) = re.findall(r"linkStyle ([\d,]+) ", drawing)
    assert [wires[int(i)].strip() for i in cut.split(",")] == ["memory_of_cpu0 --- cpu0", "memory_of_cpu1 --- cpu1"]
    assert "2 sockets' memory of 140.8 GB/s in and out" in text


@pytest.mark.parametrize("machine", ["aws-p5", "r7725xd", "hgx-b300", "smc-5126gs-tnrt2", "cn-h200-8"])
@pytest.mark.parametrize("form", ["table", "csv", "md", "svg"])
def test_every_kind_of_machine_in_every_format(command: Command, machine: str, form: str) -> None:
    done = command("catalog", "topology", machine, "-f", form)
    assert done.code == 0 and done.out
    if form == "svg":
        ET.fromstring(done.out)


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("dell-xe9860",), 3, "did you mean 'dell-xe9680'"),
        (("dell-xe9680", "--movement", "dram-gpu"), 2, "did you mean 'dram-gpus'"),
        (("dell-xe9680", "--gpu", "b200"), 2, "dell-xe9680 takes h100-sxm, h200-sxm"),
        (("dell-xe9680", "--gpu", "h2oo-sxm"), 3, "did you mean 'h200-sxm'"),
        (("dell-xe9680", "--cpu", "epyc-9554"), 2, "dell-xe9680 takes xeon"),
        (("dell-xe9680", "--drives", "17"), 2, "takes 16 at most"),
        (("dell-xe9680", "--nics", "11"), 2, "takes 10 at most"),
        (("dell-xe9680", "--dimms", "33"), 2, "takes 32 at most"),
        (("dell-xe9680", "--drive", "micron-9550"), 3, "'micron-9550-pro-3.84tb'"),
        (("dell-xe9680", "--nic", "cx9"), 3, "unknown network card 'cx9'"),
        (("aws-p5", "--gpu", "h200-sxm"), 2, "name a chassis or a system"),
        (("dell-xe9680", "-f", "pdf"), 2, "unknown format"),
        (("dell-xe9680", "-o", "x.png"), 2, "no format for this suffix"),
    ],
)
def test_wrong_words(command: Command, words: tuple[str, ...], code: int, message: str) -> None:
    done = command("catalog", "topology", *words)
    assert done.code == code and message in done.err and "Traceback" not in done.err
