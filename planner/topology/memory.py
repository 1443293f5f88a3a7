"""Bandwidth of host memory by its population: channels that are filled, and how fast they run."""

from __future__ import annotations

from planner.hardware import Cpu, Dimm

_CHANNEL_BYTES = 8
"""A DDR5 channel moves 64 bits per transfer, without those for error correction."""


def memory_bytes_per_s(cpu: Cpu, dimm: Dimm, dimms: int, n_sockets: int) -> int:
    """Return what the memory of one socket moves with `dimms` in the node, reads and writes together.

    Two modules on a channel run slower than one; a module is never faster than its own speed.
    Modules that do not fill all channels leave some of them idle.
    """
    each = dimms // n_sockets
    channels = min(cpu.memory_channels, each)
    speed = cpu.speed_1dpc if each <= cpu.memory_channels else cpu.speed_2dpc or cpu.speed_1dpc
    return channels * min(speed, dimm.speed) * 10**6 * _CHANNEL_BYTES
