"""Movements of bytes inside a machine that plans ask about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from planner.topology.contents import LeafKind

End = Literal["gpus", "drives", "nics", "dram"]


@dataclass(frozen=True)
class Movement:
    """Bytes from one kind of part to another.

    Attributes
    ----------
    name : str
        How commands name it.
    label : str
        What it is for a reader.
    source, sink : str
        Where bytes come from and go to.
    twice : bool
        Whether each byte that is counted stands for two on the memory's channels.
    """

    name: str
    label: str
    source: End
    sink: End
    twice: bool = False

    @property
    def alone(self) -> LeafKind:
        """Of which parts one may move alone: GPUs where they take part, else the other end."""
        ends: list[LeafKind] = [end for end in (self.sink, self.source) if end != "dram"]
        return "gpus" if "gpus" in ends else ends[-1]


_ALL = (
    Movement("drives-dram", "drives to memory", "drives", "dram"),
    Movement("dram-drives", "memory to drives", "dram", "drives"),
    Movement("dram-gpus", "memory to GPUs", "dram", "gpus"),
    Movement("gpus-dram", "GPUs to memory", "gpus", "dram"),
    # As much loaded as stored: the links have both directions, the memory is shared by both.
    Movement("both", "memory and GPUs, each way at once", "dram", "gpus", twice=True),
    Movement("nics-dram", "network to memory", "nics", "dram"),
    Movement("drives-gpus", "drives through memory to GPUs", "drives", "gpus", twice=True),
    Movement("nics-gpus", "network through memory to GPUs", "nics", "gpus", twice=True),
    Movement("drives-nics", "drives through memory to network", "drives", "nics", twice=True),
)
MOVEMENTS = {movement.name: movement for movement in _ALL}
