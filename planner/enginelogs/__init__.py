"""Reading the start-up logs of vLLM, SGLang and LMCache: text to typed figures, nothing guessed.

The figures, by engine (settings are named as in `Settings`; sizes are of one rank):

=========  ==========================================================================================
all        ``kv_memory_bytes`` (vLLM: free for KV; SGLang: allocated), ``kv_tokens``, ``weights_bytes``
vLLM       ``max_concurrency gpu_blocks cpu_blocks total_gpu_memory_bytes requested_bytes``
           ``free_at_start_bytes non_torch_bytes activation_bytes non_kv_bytes consumed_bytes``
           ``peak_headroom_bytes graph_bytes graph_pool_bytes graph_estimate_bytes``
           ``mamba_padding_fraction padding_layers padding_waste_fraction gpu_blocks_override``
           ``kv_needed_bytes longest_context_tokens`` (of a start that failed)
SGLang     ``k_bytes v_bytes``; ``swa_``, ``index_`` and ``draft_`` pools; ``full_layer_tokens``
           ``swa_layer_tokens mamba_slots conv_state_bytes ssm_state_bytes``
           ``intermediate_ssm_state_cache_bytes intermediate_conv_window_cache_bytes``
           ``free_before_weights_bytes free_after_weights_bytes free_after_pools_bytes``
           ``free_after_start_bytes graph_bytes`` (several a rank: add up) ``max_total_tokens``
           ``kv_budget_bytes bytes_per_full_token speculative_draft_tokens``
LMCache    ``store_`` and ``retrieve_``: ``tokens bytes s bytes_per_s bytes_per_token``
           ``average_bytes_per_s`` (of one GPU since the start, which the text names)
           ``chunk_tokens local_cpu local_cpu_bytes local_disk_bytes l1_bytes layers draft_layers``
           ``kv_heads_per_gpu head_size mla dimensions save_decode_cache save_unfull_chunk``
           ``use_layerwise``
=========  ==========================================================================================
"""

from __future__ import annotations

from planner.enginelogs import lmcache, sglang, vllm
from planner.enginelogs.base import EngineLog, EngineName, Figure, Seen, Settings, Value
from planner.enginelogs.reading import read_log, read_logs

__all__ = [
    "EngineLog",
    "EngineName",
    "Figure",
    "Seen",
    "Settings",
    "Value",
    "lmcache",
    "read_log",
    "read_logs",
    "sglang",
    "vllm",
]
