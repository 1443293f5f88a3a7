"""A limit's numbers, each with its name and where it comes from: sums of products, for reading.

Limits compute what they have and need in the quickest way, since candidates ask for it a hundred
thousand times. Beside that each says its numbers one by one; a test holds the two together.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from math import prod

from planner.build import Build
from planner.copies import copies_on_load
from planner.demand import Footprint
from planner.engines import Cache, Engine
from planner.evidence import Evidence
from planner.problem import Situation
from planner.roles import BOTH, DECODE, PREFILL, handed_tokens, has_tiers


@dataclass(frozen=True)
class Factor:
    """One number.

    Attributes
    ----------
    words : str
        What it is.
    unit : str
        Its unit; ``share`` for a share of 1, empty for a bare number.
    path : str
        What limits it inside the machine; empty where it is no flow.
    evidence : Evidence or None
        Of a value of the catalogue, or of a constant; None where it is computed or the scenario's.
    """

    words: str
    value: Fraction | int
    unit: str = ""
    path: str = ""
    evidence: Evidence | None = None


@dataclass(frozen=True)
class Term:
    """A product.

    Attributes
    ----------
    words : str
        What it stands for; empty where it is alone.
    minus : bool
        Whether it is taken off.
    """

    factors: tuple[Factor, ...]
    words: str = ""
    minus: bool = False

    @property
    def value(self) -> Fraction:
        """The product with its sign."""
        product = prod((Fraction(factor.value) for factor in self.factors), start=Fraction(1))
        return -product if self.minus else product


@dataclass(frozen=True)
class Terms:
    """What one group has, and what an open session needs of it, each a sum.

    Attributes
    ----------
    basis : tuple of Factor
        Numbers of the catalogue behind a factor that is no product of them.
    """

    have: tuple[Term, ...]
    need: tuple[Term, ...]
    basis: tuple[Factor, ...] = ()


def total(terms: Iterable[Term]) -> Fraction:
    """Return the sum."""
    return sum((term.value for term in terms), Fraction(0))


def of_profile(profile: Cache | Engine, key: str, value: Fraction | int, unit: str = "share") -> Factor:
    """Return a value of an engine's or a product's profile with its evidence, `key` as its file has it."""
    default = Evidence("sourced", profile.source) if profile.source else None
    return Factor(f"{profile.id}: {key}", value, unit, evidence=profile.evidence.get(key, default))


def ceiling(build: Build) -> Factor:
    """Return the share of what a product moves that may be planned."""
    return of_profile(build.cache, "load_ceiling", build.cache.load_ceiling_fraction)


def nodes(build: Build) -> Factor:
    """Return the nodes of a group."""
    return Factor("nodes of a group", build.n_nodes)


def turns(at: Situation) -> Factor:
    """Return the turns of an open session in the busiest minute."""
    why = at.scenario.evidence.get("workload.rates.turns_per_hour")
    return Factor("turns of an open session", at.turns_per_open, "1/s", evidence=why)


def resumed(build: Build) -> Factor:
    """Return what one session loads when it comes back."""
    return Factor("one copy of what a session loads", build.core.footprint.resume_bytes, "B")


def stored_copies(build: Build) -> Factor:
    """Return how often a node's tiers hold a session."""
    return Factor("copies in a node's tiers", build.core.footprint.copies)


def loaded_copies(build: Build) -> Factor:
    """Return how often a session's bytes cross the host links when it is loaded."""
    core = build.core
    copies = copies_on_load(core.footprint.kv, core.layout, core.engine, core.footprint.sizes.session_tokens)
    return Factor(f"copies that the ranks of {core.layout.name} pull", copies)


def stored_tokens(at: Situation) -> Factor:
    """Return the tokens that a turn adds to the tiers."""
    return Factor("tokens that a turn stores", at.flows.stored_tokens, "tokens")


def token_bytes(build: Build) -> Factor:
    """Return the KV bytes of a token, one copy."""
    return Factor(f"{build.core.footprint.kv.name} per token", build.core.footprint.kv.rate, "B")


def sessions_per_open(words: str, part: int, at: Situation) -> Factor:
    """Return how many sessions of a state come on each open one."""
    return Factor(f"{words} per open session: {part:,} / {at.open:,}", Fraction(part, at.open))


def fitting(have: int, size: Footprint) -> Term:
    """Return what a tier may be planned for where the sum of contexts counts."""
    fit = Factor("contexts that fit together", have // size.stored_bytes, "sessions")
    return Term((fit, Factor("own bytes at the mean", size.stored_bytes, "B")), "sum of contexts")


# What a turn moves, by role: see `planner.roles`


def kept(at: Situation) -> Factor:
    """Return the share of turns whose context is not lost."""
    return Factor("not lost", 1 - at.flows.lost, "share")


def handed(build: Build, at: Situation) -> Factor:
    """Return what a turn prefills on a prefill group."""
    return Factor("tokens that a turn prefills elsewhere", handed_tokens(build.cache, at), "tokens")


def context(build: Build, at: Situation, words: str) -> Term:
    """Return a context on its way to a prefill group, as it is stored."""
    return Term((turns(at), kept(at), resumed(build), stored_copies(build)), words)


def prompts_back(build: Build, at: Situation, words: str) -> Term:
    """Return what was prefilled on its way to a decode group, as it is stored."""
    return Term((turns(at), handed(build, at), token_bytes(build), stored_copies(build)), words)


def loads(build: Build, at: Situation) -> tuple[Term, ...]:
    """Return what goes from host memory into GPUs."""
    if build.core.role == PREFILL:
        return (Term((turns(at), kept(at), resumed(build), loaded_copies(build)), "contexts"),)
    loaded = Factor("loaded", at.flows.loaded, "share")
    found = Term((turns(at), loaded, resumed(build), loaded_copies(build)), "loads")
    if build.core.role == DECODE:
        return found, Term((turns(at), handed(build, at), token_bytes(build), loaded_copies(build)), "prompts")
    return (found,)


def stores(build: Build, at: Situation) -> tuple[Term, ...]:
    """Return what goes from GPUs into host memory."""
    if build.core.role == PREFILL:
        return (prompts_back(build, at, "prompts"),)
    decodes = build.core.role == DECODE
    tokens = Factor("tokens of an answer", at.flows.answer_tokens, "tokens") if decodes else stored_tokens(at)
    stored = Term((turns(at), tokens, token_bytes(build), stored_copies(build)), "answers" if decodes else "stores")
    found: tuple[Term, ...] = (stored,) if has_tiers(at) else ()
    if decodes:
        still = Factor("still in GPU memory", at.flows.from_gpu, "share")
        found += (Term((turns(at), still, resumed(build), stored_copies(build)), "contexts"),)
    return found


def crossings(build: Build, at: Situation) -> tuple[Term, ...]:
    """Return all that crosses host memory, once for each time that it is read or written."""
    role, drives = build.core.role, at.scenario.tiers.nvme != "none"
    links = (*loads(build, at), *stores(build, at))
    if role == PREFILL:
        return context(build, at, "contexts that come"), *links, prompts_back(build, at, "prompts that go")
    staged = Factor("from drives", at.flows.from_nvme, "share")
    found = [*loads(build, at), Term((turns(at), staged, resumed(build), stored_copies(build)), "staged")]
    if role == BOTH:
        times = Factor("in, and out to drives", 2 if drives else 1)
        found += [replace(term, factors=(term.factors[0], times, *term.factors[1:])) for term in stores(build, at)]
        if at.pooled:
            loaded, twice = Factor("loaded", at.flows.loaded, "share"), Factor("out and in", 2)
            found.append(Term((turns(at), twice, loaded, resumed(build), stored_copies(build)), "remote"))
        return tuple(found)
    found += [*stores(build, at), prompts_back(build, at, "prompts that come")]
    if drives:
        answer = Factor("tokens of an answer", at.flows.answer_tokens, "tokens")
        found.append(Term((turns(at), answer, token_bytes(build), stored_copies(build)), "answers to drives"))
        found.append(prompts_back(build, at, "prompts to drives"))
    return *found, context(build, at, "contexts that go")
