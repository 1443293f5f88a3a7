"""A build: one complete replica group as it would be bought and run.

A replica group is the unit that is bought, hosts sessions and fails together: several replicas
in a node, one node, or several nodes with the fabric they need.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from planner.budget import Budget, Launch
from planner.demand import Footprint
from planner.engines import Cache, Engine
from planner.hardware import Chassis, Cpu, Dimm, Drive, Gpu, Nic, OwnedMachine, System
from planner.layout import Layout
from planner.models import Model
from planner.pool import Pool


@dataclass(frozen=True, eq=False)
class Core:
    """What is fixed before memory and drives are chosen: machine, GPUs and how the model runs.

    Attributes
    ----------
    n_nodes : int
        Nodes of the group.
    replicas : int
        Replicas of the group.
    footprint : Footprint
        Of one session in this KV format.
    fabric_nics : int
        Fabric cards per node; 0 where the group stays within a node and tiers are local.
    layout_evidence : str
        ``measured``, ``derived`` or ``assumed``.
    extra_nics_w : int
        Watts of the network cards that a whole system brings beyond those a node needs.
    system : System or None
        The whole system that is bought instead of parts.
    launch : Launch or None
        Options of the engine that the budget holds for; None where the budget is given.
    service : str
        Which service of a plan it is for; empty where there is one.
    role : {'both', 'decode', 'prefill'}
        What its groups do for the sessions of the service.
    """

    chassis: Chassis
    gpu: Gpu
    model: Model
    engine: Engine
    weights: str
    footprint: Footprint
    layout: Layout
    n_nodes: int
    replicas: int
    budget: Budget
    pool: Pool
    layout_evidence: str
    front_nic: Nic
    front_nics: int
    extra_nics_w: int = 0
    fabric_nic: Nic | None = None
    fabric_nics: int = 0
    system: System | None = None
    launch: Launch | None = None
    service: str = ""
    role: str = "both"

    @property
    def n_gpus(self) -> int:
        """GPUs of the group."""
        return self.n_nodes * self.chassis.n_gpus

    @property
    def nics(self) -> dict[str, int]:
        """Network cards of a node by part: those it needs and those a whole system brings."""
        wanted = {self.front_nic.id: self.front_nics}
        if self.fabric_nic is not None:
            wanted[self.fabric_nic.id] = wanted.get(self.fabric_nic.id, 0) + self.fabric_nics
        inside = {quantity.part: quantity.count for quantity in self.system.nics} if self.system else {}
        return {part: max(wanted.get(part, 0), inside.get(part, 0)) for part in {**wanted, **inside}}

    @property
    def nic_power_w(self) -> int:
        """Watts of all network cards of a node."""
        watts = self.front_nics * self.front_nic.power_w + self.extra_nics_w
        return watts + (self.fabric_nics * self.fabric_nic.power_w if self.fabric_nic else 0)

    @property
    def hbm_slots(self) -> int:
        """Whole sessions that the group's KV pools hold at once."""
        return self.replicas * self.layout.dp * self.pool.sessions

    @property
    def pool_key(self) -> tuple[int, str, Fraction, int]:
        """What groups must have in common to read each other's caches in a pooled tier.

        The format, the copies and, for K/V heads, the tensor ranks whose shards are stored; leaner
        formats sort first.
        """
        kv = self.footprint.kv
        shards = 0 if all(part.heads == 1 for part in kv.parts) else self.layout.tp
        return (kv.bytes_per_token, kv.name, self.footprint.copies, shards)

    @property
    def pair_key(self) -> tuple[tuple[int, str, Fraction, int], str]:
        """What groups must have in common to hand sessions to each other: what tiers store, and the engine."""
        return self.pool_key, self.engine.id

    @property
    def name(self) -> str:
        """Short text that tells cores of one problem apart."""
        machine = self.system.id if self.system else self.chassis.id
        nodes = f" x{self.n_nodes}" if self.n_nodes > 1 else ""
        replicas = f"{self.replicas}x " if self.replicas > 1 else ""
        how = f"{replicas}{self.layout.name} {self.weights} {self.footprint.kv.name} {self.engine.id}"
        # Groups of several nodes have one number of fabric cards, single nodes of a pool a choice of them.
        cards = f" / {self.fabric_nics}x {self.fabric_nic.id}" if self.fabric_nic and self.n_nodes == 1 else ""
        whose = f"{self.service}: " if self.service else ""
        role = "" if self.role == "both" else f" / {self.role}"
        return f"{whose}{machine}{nodes} / {self.gpu.id} / {how}{cards}{role}"


@dataclass(frozen=True, eq=False)
class Build:
    """A core with its processors, memory and drives, its cost and what it hosts.

    Attributes
    ----------
    dimms, drives : int
        Per node.
    cost_cents : int
        Of one group, node lines only, in the price case of the problem.
    opex_cents, tco_cents : int
        Running cost per year, and all that one group costs over the term.
    rest_cents, rest_tco_cents : int
        Of both, what is left without parts whose price depends on how many are bought.
    volume_pieces : tuple of int
        Of one group, of each part of the price book with such prices.
    power_w : int
        Peak of one group.
    reach : int
        What the group hosts of open sessions, the smallest over its limits, in parts of a session
        (see `planner.problem.Situation.scale`); of a group that only prefills, the open sessions
        whose turns it prefills.
    racks_per : int
        Nodes of this kind that share a rack.
    """

    core: Core
    cache: Cache
    cpu: Cpu
    dimm: Dimm
    dimms: int
    drive: Drive | None
    drives: int
    boot: Drive
    cost_cents: int = 0
    opex_cents: int = 0
    tco_cents: int = 0
    rest_cents: int = 0
    rest_tco_cents: int = 0
    volume_pieces: tuple[int, ...] = ()
    power_w: int = 0
    reach: int = 0
    racks_per: int = 1

    @property
    def n_nodes(self) -> int:
        """Nodes of one group."""
        return self.core.n_nodes

    @property
    def hosts(self) -> int:
        """Open sessions that live on a group, in parts."""
        return 0 if self.core.role == "prefill" else self.reach

    @property
    def prefills(self) -> int:
        """Open sessions whose turns a group prefills, in parts."""
        return 0 if self.core.role == "decode" else self.reach

    @property
    def ram_bytes(self) -> int:
        """Host memory of one node."""
        return self.dimms * self.dimm.capacity_bytes

    @property
    def added_dimms(self) -> int:
        """DIMMs beyond those that a whole system holds; 0 where parts are bought."""
        system = self.core.system
        return self.dimms - system.dimms.count if system is not None else 0

    @property
    def added_drives(self) -> int:
        """Data drives beyond those that a whole system holds; 0 where parts are bought."""
        system = self.core.system
        return self.drives - sum(inside.count for inside in system.drives) if system is not None else 0

    @property
    def nvme_bytes(self) -> int:
        """Data drives of one node."""
        return self.drives * self.drive.capacity_bytes if self.drive else 0

    @property
    def node_power_w(self) -> int:
        """Peak watts of one node."""
        return node_power_w(self.core, self.cpu, self.dimm, self.dimms, self.drive, self.drives, self.boot)

    @property
    def name(self) -> str:
        """Text that names the build in plans; unique within a problem."""
        drives = f"{self.drives}x {self.drive.id}" if self.drive else "no data drives"
        return f"{self.core.name} / {self.cpu.id} / {self.dimms}x {self.dimm.id} / {drives}"

    def parts(self) -> tuple[tuple[str, str, int], ...]:
        """Return (category, part id, count) of one node, network cards included."""
        core, chassis = self.core, self.core.chassis
        rows = [
            ("chassis", chassis.id, 1),
            ("gpu", core.gpu.id, chassis.n_gpus),
            ("cpu", self.cpu.id, chassis.n_cpus),
            ("dimm", self.dimm.id, self.dimms),
            ("boot drive", self.boot.id, chassis.boot_drives),
        ]
        if self.drive:
            rows.append(("drive", self.drive.id, self.drives))
        rows += [("nic", part, count) for part, count in core.nics.items()]
        return tuple(row for row in rows if row[2])


def node_power_w(core: Core, cpu: Cpu, dimm: Dimm, dimms: int, drive: Drive | None, drives: int, boot: Drive) -> int:
    """Return the peak watts of one node: every part at its limit."""
    chassis = core.chassis
    watts = chassis.base_w + chassis.n_gpus * core.gpu.power_w + chassis.n_cpus * cpu.power_w
    watts += dimms * dimm.power_w + (drives * drive.power_w if drive else 0)
    return watts + chassis.boot_drives * boot.power_w + core.nic_power_w


def group_pieces(build: Build, part: str) -> int:
    """Return how many of `part` one group takes; a whole system counts as itself and its parts."""
    inside = sum(count for _, name, count in build.parts() if name == part)
    if build.core.system is not None and build.core.system.id == part:
        inside += 1
    return build.n_nodes * inside


def bought_pieces(build: Build, part: str) -> int:
    """Return how many of `part` are bought for one group: of a machine that is owned, what is added."""
    system = build.core.system
    if not isinstance(system, OwnedMachine):
        return group_pieces(build, part)
    added = [(build.dimm.id, build.added_dimms)]
    added += [(build.drive.id, build.added_drives)] if build.drive else []
    inside = {quantity.part: quantity.count for quantity in system.nics}
    added += [(name, count - inside.get(name, 0)) for name, count in build.core.nics.items()]
    return build.n_nodes * sum(count for name, count in added if name == part)
