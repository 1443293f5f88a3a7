"""DeepSeek sparse attention: latent attention over the `topk` tokens that an indexer picks.

bytes(T) = (layers * row + indexer_layers * (dim + 4 * dim / 128)) * T. Sparsity shrinks what a
step reads, never what is stored. The indexer's keys are kept in fp8 even beside a BF16 latent,
and only by layers that own an indexer: GLM-5.2 shares 21 among 78.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from planner.attention.base import FAMILIES, CachePart, Weights, row
from planner.attention.mla import Latent
from planner.fields import Count, record


@FAMILIES.register("dsa")
@record
class Dsa(Latent):
    """Layers with latent attention behind an indexer.

    Attributes
    ----------
    indexer_layers : int
        How many of the layers own an indexer and store its keys.
    indexer_heads, indexer_dim : int
        Its query heads and elements per key.
    indexer_pool : int
        Neighbouring tokens that share one key.
    topk : int
        Tokens that attention reads.
    """

    family: Literal["dsa"] = "dsa"
    indexer_layers: Count
    indexer_heads: Count
    indexer_dim: Count
    indexer_pool: Count = 1
    topk: Count

    def cache_parts(self, kv_format: str) -> tuple[CachePart, ...]:
        """Return the latent cache and the indexer's."""
        key = (self.indexer_dim + row(4 * self.indexer_dim, 128)) / self.indexer_pool
        formula = f"{self.indexer_dim} fp8 + an fp32 scale per 128"
        formula += f", one per {self.indexer_pool} tokens" if self.indexer_pool > 1 else ""
        indexer = CachePart(
            "indexer key", self.indexer_layers, key, context_sharded=False, with_latent=True, row_formula=formula
        )
        return (self.latent_part(kv_format), indexer)

    def weights(self, hidden: int) -> tuple[Weights, ...]:
        """Return those of latent attention and, copied on every rank, the indexer's."""
        queries = self.query_rank * self.indexer_heads * self.indexer_dim
        matrices = queries + hidden * self.indexer_dim
        small = hidden * self.indexer_heads + 2 * self.indexer_dim
        return (
            *self.latent_weights(hidden),
            Weights("indexer projections", self.indexer_layers * matrices, "attention", "none"),
            Weights("indexer head weights and norm", self.indexer_layers * small, "other", "none"),
        )

    def prefill_flops(self, position: int) -> int:
        """Return sparse attention plus the indexer's scan of all earlier tokens."""
        return self.latent_flops(min(position, self.topk)) + self.scan_flops(position)

    def scan_flops(self, position: int) -> int:
        """Return the indexer's work over all earlier tokens."""
        return 2 * self.indexer_layers * self.indexer_heads * self.indexer_dim * (position // self.indexer_pool)

    def decode_flops(self, position: int) -> int:
        """Return the same as for prefill."""
        return self.prefill_flops(position)

    def read_fraction_tokens(self, context: int) -> Mapping[str, int]:
        """Return topk latents but every indexer key."""
        return {"latent": min(context, self.topk), "indexer key": context}
