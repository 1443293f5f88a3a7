"""Where the answer goes: stdout, or a file that is whole or not there."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from planner.cli import options
from planner.errors import UsageError
from tests.cli.conftest import Command

DEMAND = ("demand", "report-real")


@pytest.mark.parametrize(
    ("suffix", "form"), [(".json", "json"), (".csv", "csv"), (".md", "md"), (".txt", "table"), (".JSON", "json")]
)
def test_suffix_chooses_the_format(command: Command, tmp_path: Path, suffix: str, form: str) -> None:
    path = tmp_path / f"out{suffix}"
    done = command(*DEMAND, "-o", str(path))
    assert (done.code, done.out, done.err) == (0, "", f"wrote {path}\n")
    assert path.read_text(encoding="utf-8") == command(*DEMAND, "-f", form).out
    assert list(tmp_path.iterdir()) == [path]


def test_named_format_wins_over_the_suffix(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    command(*DEMAND, "-f", "json", "-o", str(path))
    assert json.loads(path.read_text(encoding="utf-8"))["scenario"] == "report-real"


def test_file_is_replaced_whole(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    path.write_text("old", encoding="utf-8")
    assert command(*DEMAND, "-o", str(path)).code == 0
    assert path.read_text(encoding="utf-8").startswith("kv_format,")


def test_unwritable_place_is_told_and_leaves_nothing(command: Command, tmp_path: Path) -> None:
    done = command(*DEMAND, "-o", str(tmp_path / "none" / "out.csv"))
    assert (done.code, done.out) == (2, "")
    assert "cannot be written: No such file or directory" in done.err
    done = command(*DEMAND, "-o", str(tmp_path), "-f", "csv")
    assert done.code == 2
    assert "is no file name" in done.err
    assert list(tmp_path.iterdir()) == []


def test_full_disk_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "out.csv"
    path.write_text("old", encoding="utf-8")

    def full(self: Path, content: bytes) -> int:
        with self.open("wb") as file:
            file.write(content[:3])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(UsageError, match="No space left"):
        options.write_whole(path, "a new text")
    assert (list(tmp_path.iterdir()), path.read_bytes()) == ([path], b"old")


def test_fault_leaves_the_old_file(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    path.write_text("old", encoding="utf-8")
    assert command("demand", "nope", "-o", str(path)).code == 3
    assert path.read_text(encoding="utf-8") == "old"


def test_link_is_written_through(command: Command, tmp_path: Path) -> None:
    real, link = tmp_path / "real.csv", tmp_path / "link.csv"
    real.write_text("old", encoding="utf-8")
    link.symlink_to(real)
    command(*DEMAND, "-o", str(link))
    assert link.is_symlink()
    assert real.read_text(encoding="utf-8").startswith("kv_format,")
    assert sorted(tmp_path.iterdir()) == [link, real]


@pytest.mark.parametrize("through_a_link", [False, True])
def test_pipe_is_not_replaced_by_a_file(tmp_path: Path, through_a_link: bool) -> None:
    pipe, link = tmp_path / "pipe.csv", tmp_path / "link.csv"
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        options.write_whole(link if through_a_link else pipe, "text")
        assert os.read(reader, 100) == b"text"
    finally:
        os.close(reader)
    assert pipe.is_fifo()
    assert sorted(tmp_path.iterdir()) == [link, pipe]


def test_interruption_leaves_no_part_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(self: Path, target: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        options.write_whole(tmp_path / "out.csv", "text")
    assert list(tmp_path.iterdir()) == []


# As a shell sees it.


def shell(line: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    script = line.replace("planner", f"{shlex.quote(sys.executable)} -W error -m planner")
    root = Path(__file__).parents[2]
    return subprocess.run(
        ["bash", "-c", f"set -o pipefail; {script}"], capture_output=True, text=True, check=False, cwd=cwd or root
    )


def test_json_is_pure_in_a_process_of_its_own() -> None:
    done = shell("planner plan report-exact -f json")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["status"] == "optimal"
    assert "HiGHS" not in done.stdout.replace('"solver": "HiGHS', "")


def test_exit_code_and_streams_of_a_fault() -> None:
    done = shell("planner plan nope -f json")
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith("planner: nope:")


def test_reader_that_goes_away_is_no_fault() -> None:
    done = shell("planner catalog list | head -1")
    assert done.returncode in (0, 141)
    assert done.stderr == ""


def test_works_from_any_folder(tmp_path: Path) -> None:
    assert shell("planner demand report-exact -f csv -o here.csv", tmp_path).returncode == 0
    assert [path.name for path in tmp_path.iterdir()] == ["here.csv"]


def test_closed_stdout_is_no_traceback() -> None:
    assert "Traceback" not in shell("planner plan report-exact -o /tmp/nowhere/x.csv >&-").stderr
