"""Tiny plans of two services of which one or both may have groups of one role, and their enumeration."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random

from planner.scenario import OWN_FLEET, Fleet, Limits
from tests.oracle.brute_force import Totals
from tests.oracle.instances import Instance
from tests.oracle.joint import Fleets, JointOracle
from tests.oracle.roles import RoleOracle, role_instance


@dataclass
class JointRoleOracle(JointOracle):
    """Enumerates the fleets of two services together; whether each holds its load its own enumeration says."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.of_roles = {
            label: RoleOracle(replace(self.instance, scenario=one)) for label, one in self.services.items()
        }
        self.oracles = dict(self.of_roles)

    def unmet(self, fleets: Fleets) -> set[tuple[str, str]]:
        gives = {"decode": "hosts", "prefill": "prefills"}
        return {
            (gives[role], label)
            for label, oracle in self.of_roles.items()
            for role in oracle.lacks(fleets[label]) & set(gives)
        }

    def holds(self, fleets: Fleets) -> bool:
        return all(oracle.holds(fleets[label]) for label, oracle in self.of_roles.items())

    def allowed(self, fleets: Fleets, totals: Totals) -> bool:
        over = all(oracle.hand_over(fleets[label]) for label, oracle in self.of_roles.items())
        return over and super().allowed(fleets, totals)

    def _can_hold(self, offered: Fleets) -> bool:
        return all(self.of_roles[label].can_hold(list(builds)) for label, builds in offered.items())


def joint_role_instance(seed: int) -> Instance:
    """Return two services over the catalogue of an instance that allows groups of one role."""
    rng = Random(f"joint roles {seed}")
    drawn = role_instance(100_000 + seed)
    first = drawn.scenario
    roles = rng.choice((("both",), ("both",), ("both", "split"), ("split",)))
    users = max(1, first.workload.users * rng.randint(20, 80) // 100)
    second = replace(first, serving=replace(first.serving, roles=roles), workload=replace(first.workload, users=users))
    services = tuple(
        replace(one, label=label, limits=Limits(), fleet=replace(one.fleet, spare_groups=rng.choice((0, 0, 0, 1))))
        for label, one in (("a", first), ("b", second))
    )
    none = Fleet()
    fleet = replace(
        first.fleet, **{key: getattr(none, key) for key in OWN_FLEET}, max_nodes=None, max_builds=None,
        spare_racks=0,
    )  # fmt: skip
    limits = replace(first.limits, budget=None, power_w=None, rack_units=None, minimum={})
    whole = replace(
        first, fleet=fleet, limits=limits, workload=replace(first.workload, rates=None), service=None,
        serving=replace(first.serving, roles=("both",)), services=services,
    )  # fmt: skip
    return replace(drawn, seed=seed, scenario=whole)
