"""One GPU model per service: one driver, one kernel build, one kind of spare."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from planner.build import Build
from planner.constraints.base import Check, apart, fleet_rule
from planner.problem import Problem, Share, Situation
from planner.program import Program


@fleet_rule
class GpuModels:
    """x <= U * chosen of its GPU, sum chosen <= 1."""

    kind = "gpu_models"
    label = "GPU models"
    formula = "groups <= upper * chosen[GPU]; sum(chosen) <= 1"

    def active(self, at: Situation) -> bool:
        """Return whether only one may be bought."""
        return any(one.scenario.fleet.one_gpu_model for one in at.services)

    def uses(self, build: Build, at: Situation) -> tuple[int, ...]:
        """Return the GPU: one build takes another's place only beside the same GPUs."""
        return apart(build.core.gpu.id)

    def add_rows(self, program: Program, problem: Problem) -> None:
        """Add for each service that asks for it a binary per GPU model and one row over them."""
        for share in _asking(problem):
            chosen: dict[str, int] = {}
            for i in share.places:
                name, group = problem.builds[i].core.gpu.id, program.groups[i]
                if name not in chosen:
                    chosen[name] = program.add_variable(share.named(f"chosen_{len(chosen)}"), 1)
                row = {group: 1, chosen[name]: -program.variables[group].upper}
                program.add_row(f"{self.kind}_{i}", row, "<=", 0)
            program.add_row(share.named(self.kind), dict.fromkeys(chosen.values(), 1), "<=", 1)

    def check(self, problem: Problem, counts: Mapping[int, int]) -> Iterable[Check]:
        """Count the GPU models in use."""
        for share in _asking(problem):
            need = len({problem.builds[i].core.gpu.id for i in share.places if counts.get(i)})
            yield Check(self.kind, self.label, need, 1, "models", self.formula, service=share.at.label)


def _asking(problem: Problem) -> Iterator[Share]:
    return (share for share in problem.shares() if share.at.scenario.fleet.one_gpu_model)
