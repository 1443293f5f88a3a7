"""A note's resume times and break-even bandwidths of GLM-5 are met within 5 %."""

from __future__ import annotations

from tests.ground_truth.worth import compared, own_break_even


def test_figures_of_the_note() -> None:
    found = compared()
    assert len(found) == 17
    assert [one for one in found if abs(one.off) > 0.05] == []


def test_own_prefill_rate_gives_a_break_even_within_the_note() -> None:
    own = own_break_even()
    assert 1.0 <= own["dp8-ep8"] <= 2.4
    # Tensor ranks hold an eighth of the heads each, and kernels of latent attention take 64 at once.
    assert own["tp8-dcp8"] < 0.5
