"""Prefill: new prompt tokens per second against the GPUs' FLOP/s."""

from __future__ import annotations

from fractions import Fraction

from planner import rates
from planner.build import Build
from planner.constraints.base import Depends, Unit, group_limit, prompts_per_open
from planner.constraints.terms import Factor, Term, Terms, kept, of_profile, turns
from planner.problem import Situation
from planner.roles import PREFILL
from planner.service import product_peak
from planner.work import Run


@group_limit
class Prefill:
    """Tokens per second that a group must prefill."""

    kind = "prefill"
    label = "prefill (FLOP/s)"
    unit: Unit = "tokens/s"
    formula = (
        "h * turns / open * (new + lost tokens + loaded share * chunk / 2)"
        " <= replicas * groups * chunk / step(chunk) * ceiling"
    )
    depends: Depends = "core"

    def active(self, at: Situation) -> bool:
        """Return whether rates are known."""
        return at.turns_per_s > 0

    def have(self, build: Build, at: Situation) -> int:
        """Return tokens per second at the planned context, at the planned load."""
        return rates.prefill_tokens_per_s(build.core, at.scenario)

    def need(self, build: Build, at: Situation) -> Fraction:
        """Return tokens per second per open session: new ones, a chunk's unstored tail, lost contexts."""
        return prompts_per_open(build, at)

    def terms(self, build: Build, at: Situation) -> Terms:
        """Return the same, number by number."""
        core, flows, turn = build.core, at.flows, turns(at)
        speed, tail = core.engine.service, Fraction(build.cache.chunk_tokens, 2)
        alone = rates.replica_prefill_tokens_per_s(core, at.scenario)
        whole = kept(at) if core.role == PREFILL else Factor("loaded", flows.loaded, "share")
        have = Term((
            Factor("replicas of a group", core.replicas),
            Factor("a replica that does nothing else", alone, "tokens/s"),
            of_profile(core.engine, "service.load_ceiling", rates.prefill_ceiling(at.scenario, speed)),
        ))  # fmt: skip
        need = (
            Term((turn, Factor("new tokens", flows.new_tokens, "tokens")), "new prompts"),
            Term(
                (turn, whole, Factor("half a chunk", tail, "tokens")),
                "unstored tails",
            ),
            Term((turn, Factor("tokens of lost contexts", flows.again_tokens, "tokens")), "lost contexts"),
        )
        key = "fp8" if product_peak(Run.of(core)) != core.gpu.dense.bf16_flops else "bf16"
        basis = (
            Factor("peak of a GPU's products", product_peak(Run.of(core)), "FLOP/s",
                   evidence=core.gpu.evidence.get(f"dense.{key}")),
            of_profile(core.engine, "service.compute", speed.compute_fraction),
            of_profile(core.engine, "service.attention", speed.attention_fraction),
            of_profile(core.engine, "service.fabric", speed.fabric_fraction),
        )  # fmt: skip
        return Terms((have,), need, basis)
