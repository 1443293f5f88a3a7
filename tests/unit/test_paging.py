"""Paging of KV caches, against what engines printed and against hand-computed cases."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import pytest

from planner.errors import InputError
from planner.paging import Deployment, GroupedPaging, LayerKind, Paging, PagingRules, PoolPaging, lay_out

GIB = 2**30
VLLM = PagingRules(style="grouped", prints="concurrency")
"""vllm 0.33.0; the same grouping, and one step in flight less, before."""
VLLM_OLD = PagingRules(style="grouped", prints="groups", pads_pages=False, steps_in_flight=1, stage_steps=0)
"""vllm 0.19.0."""
SGLANG = PagingRules(style="pools", prints="tokens", null_blocks=0)
CACHING, ALONE = Deployment(), Deployment(prefix_caching=False)


def full(layers: int, heads: int, dim: int, element: Fraction | int = 2, name: str = "full") -> LayerKind:
    """K and V of `heads` heads."""
    return LayerKind(name, layers, Fraction(2 * heads * dim * element))


def sliding(layers: int, heads: int, dim: int, window: int, element: int = 2) -> LayerKind:
    return replace(full(layers, heads, dim, element), name="sliding", window_tokens=window)


def chunked(layers: int, heads: int, dim: int, chunk: int) -> LayerKind:
    return replace(sliding(layers, heads, dim, chunk), name="chunked", chunked=True)


def latent(layers: int, row: int) -> LayerKind:
    return LayerKind("latent", layers, Fraction(row))


def gdn(layers: int, value_heads: int, tensor: int = 1, draft: int = 0, state: int = 4) -> LayerKind:
    """Gated delta net of Qwen3.5 and later: 16 key heads, all heads 128 wide, kernel of 4."""
    convolution = (2 * 16 + value_heads) * 128 * (3 + draft) * 2 // tensor
    return LayerKind("gdn", layers, Fraction(0), convolution + value_heads * 128 * 128 * state // tensor)


def deepseek_v4(layers: int, c4: int, c128: int) -> list[LayerKind]:
    """Rows of 584 B in pages padded to 576 B; compressors keep raw keys of two, or one, groups."""
    pad = {"page_multiple_bytes": 576}
    window = LayerKind("window", layers, Fraction(584), window_tokens=128, own_block_tokens=64, **pad)
    c4_state = LayerKind("C4 state", c4, Fraction(8192), window_tokens=8, own_block_tokens=4, **pad)
    return [
        LayerKind("C4", c4, Fraction(584, 4), **pad),
        LayerKind("C128", c128, Fraction(584, 128), **pad),
        LayerKind("indexer", c4, Fraction(132, 4), beside="C4", **pad),
        window,
        c4_state,
        replace(c4_state, name="C4 indexer state", token_bytes=Fraction(2048)),
        LayerKind("C128 state", c128, Fraction(4096), window_tokens=128, own_block_tokens=8, **pad),
    ]


@dataclass(frozen=True)
class Row:
    """What an engine printed, and from what.

    `gib` is the printed "available KV cache memory", or None; `blocks` the printed blocks, or None.
    """

    source: str
    kinds: list[LayerKind]
    rules: PagingRules
    gib: str | None
    blocks: int | None
    tokens: int
    concurrency: str | None = None
    max_model_len: int = 8192
    block: int = 16
    batched: int = 8192
    deployment: Deployment = CACHING

    @property
    def paging(self) -> Paging:
        return lay_out(self.kinds, self.rules, self.block, self.deployment)

    def candidates(self) -> list[int]:
        """Numbers of blocks that the printed memory may have meant: it is rounded to 0.01 GiB."""
        if self.gib is None:
            return list(range(1, 5000))
        low, high = ((Fraction(self.gib) + Fraction(sign, 200)) * GIB for sign in (-1, 1))
        return list(range(self.paging.n_blocks(int(low)), self.paging.n_blocks(int(high)) + 1))


PLANNER = "llm-d-incubation/llm-d-planner#205"
INDEX = "stored public GitHub file "
LLAMA_8B = full(32, 8, 128)
UNIFORM = [
    Row(f"{PLANNER}: DeepSeek-V2-Lite", [latent(27, 1152)], VLLM_OLD, "43.61", 94097, 1505552, "183.78"),
    Row(f"{PLANNER}: Llama-3.3-70B fp8 tp2", [full(80, 4, 128)], VLLM_OLD, "37.28", 15269, 244304, "29.82"),
    Row(f"{PLANNER}: Qwen2.5-7B fp8", [full(28, 4, 128)], VLLM_OLD, "64.64", 75644, 1210304, "147.74"),
    Row(f"{PLANNER}: gemma-7b", [full(28, 16, 256)], VLLM_OLD, "55.44", 8110, 129760, "15.84"),
    Row(f"{PLANNER}: granite-3.3-8b", [full(40, 8, 128)], VLLM_OLD, "58.66", 24027, 384432, "46.93"),
    Row(f"{PLANNER}: Llama-3.1-8B fp8 KV", [full(32, 8, 128, 1)], VLLM_OLD, "58.11", 59502, 952032, "116.21"),
    Row(f"{PLANNER}: Llama-3.1-8B", [LLAMA_8B], VLLM_OLD, "58.11", 29750, 476000, "58.11"),
    Row(f"{PLANNER}: Llama-3.1-8B fp16", [LLAMA_8B], VLLM_OLD, "58.11", 29751, 476016, "58.11"),
    Row(f"{PLANNER}: Llama-3.1-8B fp32", [full(32, 8, 128, 4)], VLLM_OLD, "42.8", 10956, 175296, "21.40"),
    Row(f"{PLANNER}: Llama-3.1-8B 4096", [LLAMA_8B], VLLM_OLD, "58.11", 29751, 476016, "116.21", 4096),
    Row(f"{PLANNER}: Llama-3.1-8B 32768", [LLAMA_8B], VLLM_OLD, "58.11", 29751, 476016, "14.53", 32768),
    Row(f"{PLANNER}: Llama-3.1-8B tp2", [full(32, 4, 128)], VLLM_OLD, "63.76", 65293, 1044688, "127.53"),
    Row(f"{PLANNER}: Llama-3.1-8B tp4", [full(32, 2, 128)], VLLM_OLD, "67.44", 138112, 2209792, "269.75"),
    Row(f"{PLANNER}: phi-4", [full(40, 10, 128)], VLLM_OLD, "46.08", 15098, 241568, "29.49"),
    Row(f"{PLANNER}: Mistral-Small-3.1", [full(40, 8, 128)], VLLM_OLD, "28.19", 11547, 184752, "22.55"),
    Row(f"{PLANNER}: Kimi-Dev-72B tp2", [full(80, 4, 128)], VLLM_OLD, "3.02", 1236, 19776, "2.41"),
    Row(f"{PLANNER}: Kimi-Dev-72B tp4", [full(80, 2, 128)], VLLM_OLD, "36.72", 30081, 481296, "58.75"),
    Row(f"{PLANNER}: Kimi-VL-A3B tp2", [latent(27, 1152)], VLLM_OLD, "54.78", 118181, 1890896, "230.82"),
    Row(f"{PLANNER}: Qwen1.5-MoE-A2.7B", [full(24, 16, 128)], VLLM_OLD, "45.83", 15644, 250304, "30.55"),
    Row(f"{PLANNER}: Qwen2.5-72B tp2", [full(80, 4, 128)], VLLM_OLD, "3.04", 1245, 19920, "2.43"),
    Row(f"{PLANNER}: Qwen2.5-7B 2048", [full(28, 4, 128)], VLLM_OLD, "58.53", 68500, 1096000, "535.16", 2048),
    Row(f"{PLANNER}: Qwen2.5-7B tp2", [full(28, 2, 128)], VLLM_OLD, "63.84", 149412, 2390592, "291.82"),
    Row(f"{PLANNER}: Qwen2.5-7B tp4", [full(28, 1, 128)], VLLM_OLD, "67.34", 315205, 5043280, "615.63"),
    Row(f"{PLANNER}: Qwen3-8B", [full(36, 8, 128)], VLLM_OLD, "57.5", 26168, 418688, "51.11"),
    Row(f"{PLANNER}: Mistral-Small w8a8", [full(40, 8, 128)], VLLM_OLD, "48.73", 19959, 319344, "38.98"),
    Row(f"{PLANNER}: Mistral-Small w8a8 tp2", [full(40, 4, 128)], VLLM_OLD, "59.02", 48349, 773584, "94.43"),
    Row(
        "vllm-project/recipes Kimi-K2-Think.md: Kimi-K2-Thinking tp8",
        [latent(61, 1152)],
        VLLM,
        "46.8",
        None,
        715072,
        None,
        64,
        64,
    ),
]
GEMMA_4 = [full(5, 2, 512, 1), sliding(25, 8, 256, 1024, 1)]
SCOUT = [full(12, 2, 128), chunked(36, 2, 128, 8192)]
WINDOWS = [
    Row(f"{PLANNER}: gemma-2-27b", [full(23, 16, 128), sliding(23, 16, 128, 4096)], VLLM_OLD, "20.59", 7335, 58672,
        "7.16"),
    Row(f"{PLANNER}: gemma-2-9b", [full(21, 8, 256), sliding(21, 8, 256, 4096)], VLLM_OLD, "54.12", 21110, 168880,
        "20.60"),
    Row(f"{PLANNER}: gemma-3-12b", [full(8, 8, 256), sliding(40, 8, 256, 1024)], VLLM_OLD, "47.72", 48867, 130304,
        "15.88"),
    Row(f"{PLANNER}: gemma-3-4b", [full(5, 4, 256), sliding(29, 4, 256, 1024)], VLLM_OLD, "62.51", 204817, 468144,
        "57.05"),
    Row(f"{PLANNER}: Llama-4-Scout tp4", SCOUT, VLLM_OLD, "16.75", 91495, 365968, "44.68"),
    Row(f"{PLANNER}: gpt-oss-20b", [full(12, 8, 64), sliding(12, 8, 64, 128)], VLLM_OLD, "58.47", None, 1277184,
        "155.75"),
    Row(f"{PLANNER}: gpt-oss-20b tp2", [full(12, 4, 64), sliding(12, 4, 64, 128)], VLLM_OLD, "59.32", 323972,
        2591776, "316.07"),
    Row(f"{INDEX}53530895476: gemma-4-26B-A4B, fp8 KV", GEMMA_4, VLLM_OLD, "51.62", None, 451040, "33.42", 131072,
        batched=2048),
]  # fmt: skip
QWEN_35B = [full(10, 2, 256, 1), gdn(30, 32)]
QWEN_27B = "vllm-project/vllm#46329: Qwen3.8-27B MTP"
RECURRENT = [
    Row("noonghunna/club-3090#612: Qwen3.6-35B-A3B", QWEN_35B, VLLM, "5.98", None, 567978, "4.33", 131072),
    Row("noonghunna/club-3090#652: Qwen3.6-35B-A3B", QWEN_35B, VLLM, "6.01", None, 569878, "4.35", 131072),
    Row("noonghunna/club-3090: Qwen3.6-27B tp2 MTP", [full(17, 2, 256, 1), gdn(48, 48, 2, 2)], VLLM, "14.68", None,
        841541, "3.21", 262144, deployment=Deployment(draft_tokens=2)),
    Row("noonghunna/club-3090: Qwen3.6-35B-A3B tp2", [full(10, 1, 256, 1), gdn(30, 32, 2)], VLLM, "17.02", None,
        3382054, None, 262144),
    Row("noonghunna/club-3090: Qwen3.8-27B tp2 MTP", [full(17, 2, 256, 1), gdn(48, 48, 2, 3)], VLLM, None, None, 270930,
        "1.03", 262144, deployment=Deployment(draft_tokens=3)),
    Row("vllm-project/recipes Qwen3.8-27B.yaml: tp2", [full(16, 2, 256, 1), gdn(48, 48, 2)], VLLM, None, None, 920517,
        None, 262144),
    Row("noonghunna/club-3090: Qwen3.6-27B tp4 MTP", [full(17, 1, 256, 1), gdn(48, 48, 4, 3)], VLLM_OLD, None, None,
        483200, "6.77", 262144, deployment=Deployment(draft_tokens=3)),
    Row(f"{QWEN_27B}, fp8", [full(17, 4, 256, 1), gdn(48, 48, 1, 3)], VLLM, None, None, 1750067, "6.68", 262144,
        deployment=Deployment(draft_tokens=3)),
    Row(f"{QWEN_27B}, nvfp4", [full(17, 4, 256, Fraction(9, 16)), gdn(48, 48, 1, 3)], VLLM, None, None, 2917565,
        "11.13", 262144, deployment=Deployment(draft_tokens=3)),
    Row(f"{INDEX}53530895476: Qwen3.5-122B-A10B MTP, fp8", [full(13, 2, 256, 1), gdn(36, 64, 1, 1)], VLLM_OLD, "24.05",
        None, 482080, "6.42", 262144, deployment=Deployment(draft_tokens=1)),
    Row("vllm-project/vllm#40691: Qwen3.5-27B", [full(16, 4, 256), gdn(48, 48)], VLLM_OLD, None, None, 290864,
        "33.04", 32768, deployment=ALONE),
]  # fmt: skip
PACKED = [
    Row("vllm-project/vllm#51041: DeepSeek-V4-Flash", deepseek_v4(43, 21, 20), VLLM, "12.39", 13270, 63859, "1.89",
        33792, 256, 8448, Deployment(packs=True)),
]  # fmt: skip
ROWS = UNIFORM + WINDOWS + RECURRENT + PACKED


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.source)
def test_what_engines_printed(row: Row) -> None:
    """Some number of blocks that the printed memory allows gives every printed number exactly."""
    blocks = [row.blocks] if row.blocks is not None else row.candidates()
    assert set(blocks) <= set(row.candidates())
    sizes = [n * row.paging.page_bytes for n in blocks]
    fitting = [
        size
        for size in sizes
        if row.paging.printed_tokens(size, row.max_model_len, row.batched) == row.tokens
        and _agrees(row.concurrency, row.paging.printed_concurrency(size, row.max_model_len, row.batched))
    ]
    assert fitting


def _agrees(printed: str | None, exact: Fraction) -> bool:
    return printed is None or f"{float(exact):.2f}" == printed


@pytest.mark.parametrize(("name", "block"), [("#612: Qwen3.6-35B-A3B", 2096), ("MTP, fp8", 1600), ("MTP, nvfp4", 2848)])
def test_the_attention_block_grows_to_a_state(name: str, block: int) -> None:
    """The 27B's log has 1600 and 2848; of the 35B a page is a state to the byte."""
    (row,) = (row for row in RECURRENT if row.source.endswith(name) and "122B" not in row.source)
    assert row.paging.block_tokens == block


def test_recurrent_request_by_hand() -> None:
    """club-3090#612: 63 blocks of 2,096 tokens and 3 groups of 2 states; 299 blocks in 5.98 GiB."""
    paging = RECURRENT[0].paging
    assert (paging.page_bytes, paging.n_groups, paging.padding_layers) == (2096 * 1024 * 10, 4, 0)
    assert paging.request_blocks(131072) == paging.admission_blocks(131072, 8192) == 69
    assert paging.n_blocks(int(5.98 * GIB)) == 299
    assert paging.sessions(int(5.98 * GIB), 131072, 8192) == 4
    assert lay_out(QWEN_35B, VLLM, 16, ALONE).request_blocks(131072) == 66


def test_states_saved_at_every_block_grow_with_the_context() -> None:
    """Nemotron-3-Nano with prefix caching before 0.33: chunks of 128, a state of each layer per block."""
    state = 64 * 64 * 128 * 4 + (64 * 64 + 2 * 8 * 128) * 3 * 2
    kinds = [full(6, 2, 128), LayerKind("mamba", 23, Fraction(0), state)]
    paging = lay_out(kinds, VLLM, 16, Deployment(state_chunk_tokens=128))
    assert paging.block_tokens == 128 * 17
    assert paging.n_groups == 5
    assert paging.request_blocks(100_000) == 5 * 46
    assert lay_out(kinds, VLLM, 16).request_blocks(100_000) == 48 + 4 * 2


@pytest.mark.parametrize(
    ("source", "kind", "gib", "longest_gib", "longest"),
    [
        ("vllm-project/recipes#12: Qwen3-Coder-480B dp8", full(62, 8, 128), "62.00", "55.65", 235_296),
        ("vllm-project/vllm#34076: Qwen3-Coder-30B", full(48, 4, 128), "24.00", "3.18", 34_736),
    ],
)
def test_what_the_longest_context_needs(source: str, kind: LayerKind, gib: str, longest_gib: str, longest: int) -> None:
    """The refusal at start-up names the bytes of the longest context, and the context that would fit."""
    paging = lay_out([kind], VLLM_OLD, 16)
    assert f"{paging.admission_blocks(262_144, 8192) * paging.page_bytes / GIB:.2f}" == gib, source
    low, high = (int((Fraction(longest_gib) + Fraction(sign, 200)) * GIB) // paging.page_bytes for sign in (-1, 1))
    assert low * 16 <= longest <= high * 16


def test_deepseek_v4_packs_five_groups() -> None:
    """Issue 51041: 5 groups, 1,002,240 B a block; a request at rest holds far less than reckoned."""
    row = PACKED[0]
    paging = row.paging
    assert isinstance(paging, GroupedPaging)
    assert (paging.page_bytes, paging.n_groups) == (1_002_240, 5)
    assert sorted(g.count for g in paging.groups) == [1, 1, 1, 2]
    assert paging.admission_blocks(33792, 8448) == 132 + 2 * 267 + 4227 + 2129
    assert paging.request_blocks(33792) == 132 + 2 * 3 + 3 + 17
    assert paging.sessions(13270 * 1_002_240, 33792, 8448) == (13269 - paging.reserve_blocks(33792, 8448)) // 158 == 40


def test_latent_and_indexer_share_one_group() -> None:
    """GLM-5.2 in fp8: 78 rows of 656 B and 21 of 132 B per token, blocks of 64."""
    kinds = [latent(78, 656), LayerKind("indexer", 21, Fraction(132), beside="latent")]
    paging = lay_out(kinds, VLLM, 64)
    assert (paging.n_groups, paging.page_bytes) == (1, 64 * 53_940)
    assert paging.request_blocks(131_073) == 2049


def test_context_ranks_deal_out_tokens() -> None:
    paging = lay_out([replace(latent(78, 656), token_ranks=8)], VLLM, 64)
    assert paging.page_bytes == 64 * 78 * 656
    assert paging.request_blocks(131_072) == 131_072 // 512


@pytest.mark.parametrize(
    ("full_layers", "window_layers", "groups", "padding"),
    [(12, 12, 2, 0), (13, 12, 2, 1), (10, 15, 3, 5), (10, 14, 2, 4), (5, 29, 7, 1), (10, 50, 6, 0)],
)
def test_groups_of_equal_layers(full_layers: int, window_layers: int, groups: int, padding: int) -> None:
    """Below one and a half times as many layers the smaller kind is padded, else the larger is split."""
    paging = lay_out([full(full_layers, 8, 64), sliding(window_layers, 8, 64, 128)], VLLM, 16)
    assert (paging.n_groups, paging.padding_layers) == (groups, padding)


def test_a_smaller_page_gets_a_longer_block() -> None:
    """Gemma-4-31B: 4 x 512 against 16 x 256, so 32 tokens against 16 in pages of 256 KiB."""
    paging = lay_out([full(10, 4, 512), sliding(50, 16, 256, 1024)], VLLM, 16)
    assert isinstance(paging, GroupedPaging)
    assert {g.block_tokens for g in paging.groups} == {16, 32}
    assert paging.page_bytes == 10 * 16 * 16384
    assert paging.request_blocks(100_000) == 3125 + 5 * 65


def test_a_page_that_divides_nothing_is_padded_or_refused() -> None:
    kinds = [full(4, 3, 64), sliding(8, 4, 64, 128)]
    assert lay_out(kinds, VLLM, 16).page_bytes == 4 * 16 * 1024
    with pytest.raises(InputError, match="cannot pad a page of 12,288 B"):
        lay_out(kinds, VLLM_OLD, 16)


def test_windows_that_a_connector_cannot_follow_keep_everything() -> None:
    kinds = [full(12, 8, 64), sliding(12, 8, 64, 128)]
    paging = lay_out(kinds, VLLM, 16, Deployment(frees_windows=False))
    assert (paging.n_groups, paging.request_blocks(8192)) == (1, 512)
    assert lay_out(kinds, VLLM, 16).request_blocks(8192) == 512 + 9


@pytest.mark.parametrize("window", [1, 2, 16, 17, 128, 1000])
@pytest.mark.parametrize("block", [1, 4, 16, 64])
def test_a_window_touches_no_more_blocks_than_reckoned(window: int, block: int) -> None:
    """Counted out over every place where the window may begin."""
    rules = replace(VLLM, steps_in_flight=1)
    paging = lay_out([full(1, 1, 64), sliding(1, 1, 64, window)], rules, block)
    touched = max((start + window - 1) // block - start // block + 1 for start in range(block))
    assert paging.request_blocks(10**6) - -(-(10**6) // block) == max(touched, 1 if window == 1 else touched)


def test_prompts_being_read_share_one_reserve() -> None:
    """The tokens in flight are shared out; each prompt adds at most one block to round up."""
    paging = lay_out([full(12, 8, 64), sliding(12, 8, 64, 128)], VLLM, 16)
    assert paging.reserve_blocks(100_000, 8192) == 1024
    assert paging.reserve_blocks(100_000, 8192, prefills=4) == 1027
    assert paging.reserve_blocks(100, 8192) == 0
    assert paging.admission_blocks(100_000, 8192) == 6250 + 1032 + 1


def test_a_prefix_is_stored_once() -> None:
    paging = lay_out([full(12, 8, 64), sliding(12, 8, 64, 128)], VLLM, 16)
    assert paging.request_blocks(1000, 500) == paging.request_blocks(1000) - 31
    assert paging.prefix_blocks(500) == 31 + 9
    assert paging.request_bytes(1000) == paging.request_blocks(1000) * paging.page_bytes
    assert lay_out(QWEN_35B, VLLM, 16).prefix_blocks(5000) == 2 + 3
    assert lay_out(QWEN_35B, VLLM, 16, ALONE).prefix_blocks(5000) == 0


def test_pipeline_stages_group_the_whole_model() -> None:
    """Llama-3.1-8B in two stages: 16 layers each, so 65.63 GiB give the 67,207 blocks logged."""
    stage = replace(full(16, 8, 128), model_layers=32)
    paging = lay_out([stage], VLLM_OLD, 16, Deployment(stages=2))
    assert paging.n_blocks(67_207 * 2**20) == 67_207
    assert paging.printed_tokens(67_207 * 2**20, 8192, 8192) == 1_075_312
    halves = [replace(full(6, 8, 64), model_layers=12), replace(sliding(6, 8, 64, 128), model_layers=12)]
    assert lay_out(halves, VLLM, 16).page_bytes == 6 * 16 * 2048
    assert lay_out(halves, VLLM, 16, Deployment(stages=2)).in_flight_tokens(1000) == 3000


@pytest.mark.parametrize(
    ("source", "kinds", "page", "parts", "tokens"),
    [
        ("vllm-project/vllm#21348: Qwen3-235B tp4", [full(94, 1, 128)], 1, "8.23 8.23", 367_404),
        ("InferenceX#2335: GLM-5.2-NVFP4", [latent(78, 576), LayerKind("indexer", 78, Fraction(132))], 64, "23.91",
         464_768),
        (f"{INDEX}68313218425: 32B dense in fp8", [full(64, 8, 128, 1)], 64, "17.17 17.17", 281_216),
        (f"{INDEX}54570644129: K fp8, V nvfp4", [full(28, 2, 128, Fraction(25, 32))], 1, "26.71 15.03", 4_001_280),
        ("sglang#11309: DeepSeek-V3.2", [latent(61, 656), LayerKind("indexer", 61, Fraction(132))], 64, "65.49",
         1_462_784),
        ("kvcache-ai/ktransformers#1804: DeepSeek-V3", [latent(61, 1152)], 1, "0.65", 10_000),
        (f"{INDEX}57759592298: Qwen3.8-27B", [full(16, 4, 256)], 1, "16.33 16.33", 535_124),
        (f"{INDEX}68375645720: Qwen3.6-27B, draft", [full(16, 4, 256), full(1, 4, 256, name="draft")], 1,
         "5.22 5.22 0.33 0.33", 171_008),
        (f"{INDEX}69519346364: Qwen3.5, 2 layers", [full(2, 2, 256)], 1, "19.26 19.26", 10_097_100),
    ],
)  # fmt: skip
def test_what_sglang_printed(source: str, kinds: list[LayerKind], page: int, parts: str, tokens: int) -> None:
    """The pool's printed bytes, rounded per part, hold its printed tokens and the page that pads it."""
    paging = lay_out(kinds, SGLANG, page)
    printed = [Fraction(part) for part in parts.split()]
    low, high = ((sum(printed) + sign * len(printed) * Fraction(1, 200)) * GIB for sign in (-1, 1))
    held = [paging.printed_tokens(int(size) - paging.page_bytes, tokens, 8192) for size in (low, high)]
    assert held[0] <= tokens <= held[1], source


def test_sglang_parts_the_budget_between_windows_and_the_rest() -> None:
    """diffusiongemma-26B: 70,656 and 56,320 tokens at a ratio of 0.8 in pages of 256."""
    paging = lay_out([full(5, 2, 512), sliding(25, 8, 256, 1024)], SGLANG, 256)
    assert isinstance(paging, PoolPaging)
    budget = int(70_656 * (5 * 4096 + Fraction(4, 5) * 25 * 8192))
    sizes = paging.sizes(budget)
    assert (sizes.full_tokens, sizes.window_tokens) == (70_656, 56_320)
    assert paging.sessions(budget, 8192, 0) == min(70_656 // 8192, 56_320 // 1536)


def test_sglang_keeps_state_slots_apart() -> None:
    """Qwen3.6-27B: 43 slots and one to spare of 16-bit states take 3.09 + 0.12 GiB."""
    kinds = [full(17, 4, 256), gdn(48, 48, state=2)]
    paging = lay_out(kinds, SGLANG, 1)
    assert isinstance(paging, PoolPaging)
    assert round(44 * paging.slot_bytes / GIB, 2) == 3.21
    assert paging.sizes(44 * paging.slot_bytes + 171_008 * 17 * 4096, slots=43).full_tokens == 171_008
    tokens_and_state = paging.sizes(10 * GIB)
    assert tokens_and_state.state_slots == int(10 * GIB * Fraction(9, 19) // paging.slot_bytes) - 1
    assert paging.sessions(10 * GIB, 1000, 0) == tokens_and_state.state_slots // 3


def test_an_unknown_engine_counts_bytes_in_blocks() -> None:
    rules = PagingRules(style="plain", prints="tokens", null_blocks=0)
    paging = lay_out([full(10, 2, 64), sliding(10, 2, 64, 100), replace(gdn(2, 16), name="state")], rules, 16)
    row = 512
    request = 10 * row * 112 + 10 * row * 112 + 2 * gdn(1, 16).state_bytes
    assert paging.request_blocks(100) == -(-request // (16 * 10 * row))
    assert paging.printed_tokens(GIB, 1000, 0) == GIB // (16 * 10 * row) * 16


def test_without_layers_there_is_nothing_to_lay_out() -> None:
    with pytest.raises(InputError, match="without attention layers"):
        lay_out([], VLLM, 16)
