"""The run script, the lock files and the package's metadata agree with each other."""

from __future__ import annotations

import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[2]
LOCKS = ("requirements.lock", "requirements-dev.lock")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRA_OF_LOCK = {"requirements.lock": "test", "requirements-dev.lock": "dev"}

# Where a lock must install: the Python's version, the system and the processor.
PLATFORMS = [
    pytest.param(
        {
            "python_version": f"3.{minor}",
            "python_full_version": f"3.{minor}.2",
            "sys_platform": system.lower(),
            "platform_system": system,
            "platform_machine": machine,
            "os_name": "posix",
        },
        id=f"3.{minor}-{system}-{machine}",
    )
    for minor in (11, 12, 13)
    for system, machine in (("Linux", "x86_64"), ("Linux", "aarch64"), ("Darwin", "arm64"))
]


def entries(lock: str) -> list[tuple[str, list[str]]]:
    """Each requirement of a lock file, as its text and its hashes."""
    text = (ROOT / lock).read_text(encoding="utf-8")
    lines = [line for line in text.replace("\\\n", " ").splitlines() if not line.lstrip().startswith("#")]
    found = []
    for line in filter(str.strip, lines):
        requirement, *hashes = line.split("--hash=")
        found.append((requirement.strip(), [h.strip() for h in hashes]))
    return found


def pins(lock: str, platform: dict[str, str]) -> dict[str, Version]:
    """The version of each package that a lock file installs on a platform."""
    found: dict[str, Version] = {}
    for text, _ in entries(lock):
        requirement = Requirement(text)
        if requirement.marker is None or Marker(str(requirement.marker)).evaluate(platform):
            name = canonicalize_name(requirement.name)
            assert name not in found, f"{lock} has {name} twice for {platform}"
            (specifier,) = requirement.specifier
            found[name] = Version(specifier.version)
    return found


@pytest.mark.parametrize("lock", LOCKS)
def test_lock_names_no_index_or_host(lock: str) -> None:
    text = (ROOT / lock).read_text(encoding="utf-8")
    assert "://" not in text
    options = r"-i|-f|--index-url|--extra-index-url|--find-links|--trusted-host|--no-index"
    assert not re.search(rf"^\s*({options})\b", text, re.M)
    assert not re.search(r"\b[\w-]+(\.[\w-]+)*\.(org|com|net|io|dev|local|internal)\b", text)


@pytest.mark.parametrize("lock", LOCKS)
def test_every_requirement_is_pinned_and_hashed(lock: str) -> None:
    found = entries(lock)
    assert found
    for text, hashes in found:
        (specifier,) = Requirement(text).specifier
        assert specifier.operator == "==", text
        assert not specifier.version.endswith("*"), text
        assert hashes, text
        assert all(re.fullmatch(r"sha256:[0-9a-f]{64}", h) for h in hashes), text


@pytest.mark.parametrize("platform", PLATFORMS)
@pytest.mark.parametrize("lock", LOCKS)
def test_lock_pins_what_the_project_requires(lock: str, platform: dict[str, str]) -> None:
    pinned = pins(lock, platform)
    wanted = PROJECT["dependencies"] + PROJECT["optional-dependencies"][EXTRA_OF_LOCK[lock]]
    for text in wanted:
        requirement = Requirement(text)
        name = canonicalize_name(requirement.name)
        assert name in pinned, f"{lock} lacks {name}: regenerate it"
        assert requirement.specifier.contains(pinned[name]), f"{lock} has {name} {pinned[name]}, not {text}"


@pytest.mark.parametrize("platform", PLATFORMS)
def test_dev_lock_only_adds_to_the_lock(platform: dict[str, str]) -> None:
    runtime = pins("requirements.lock", platform)
    dev = pins("requirements-dev.lock", platform)
    assert runtime.items() <= dev.items()


def test_lock_tells_how_to_regenerate_it() -> None:
    for lock in LOCKS:
        head = (ROOT / lock).read_text(encoding="utf-8")[:500]
        assert re.search(rf"^# +uv pip compile .*--universal.* -o {re.escape(lock)} ", head, re.M)


def test_dev_extra_has_the_test_extra() -> None:
    extras = PROJECT["optional-dependencies"]
    assert set(extras["test"]) <= set(extras["dev"])


def test_there_is_no_second_lock() -> None:
    assert not (ROOT / "uv.lock").exists()


@pytest.mark.parametrize(("script", "shell"), [("run", "sh"), (".ci/run", "bash")])
def test_script_is_executable_and_parses(script: str, shell: str) -> None:
    path = ROOT / script
    assert os.access(path, os.X_OK)
    assert path.read_text(encoding="utf-8").splitlines()[0] in {"#!/bin/sh", "#!/usr/bin/env bash"}
    subprocess.run([shell, "-n", str(path)], check=True, capture_output=True)


def test_run_says_clearly_that_no_python_will_do(tmp_path: Path) -> None:
    checkout = tmp_path / "a checkout"
    checkout.mkdir()
    for name in ("run", "requirements.lock"):
        (checkout / name).write_bytes((ROOT / name).read_bytes())
    tools = tmp_path / "bin"
    tools.mkdir()
    old = tools / "python3"
    old.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    old.chmod(0o755)
    (tools / "dirname").symlink_to("/usr/bin/dirname")
    done = subprocess.run(
        ["/bin/sh", str(checkout / "run"), "--help"],
        env={"PATH": str(tools)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stdout == ""
    assert "no Python 3.11 or newer" in done.stderr
    assert not (checkout / ".venv").exists()


def test_run_refuses_a_folder_that_is_no_checkout(tmp_path: Path) -> None:
    (tmp_path / "run").write_bytes((ROOT / "run").read_bytes())
    done = subprocess.run(["/bin/sh", str(tmp_path / "run")], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "no requirements.lock" in done.stderr
