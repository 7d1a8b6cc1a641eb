"""DALL-E: discrete VAE, cached decoding, weights of the losses, guidance, ranker."""

import pytest
import torch
from pydantic import ValidationError
from torch.testing import assert_close

from multihead.batch import CaptionBatch
from multihead.models.dalle import DALLE, Settings
from multihead.models.dalle.dvae import DiscreteVAE, kl_to_uniform, kl_weight, temperature
from multihead.nn.losses import objective
from multihead.tasks.drawing.image_generator import guide

B, SIZE, TEXT, V, CODES = 5, 12, 7, 11, 13
GRID = SIZE // 4


def settings(**changes: object) -> Settings:
    given = {
        "vocab_size": V,
        "text_length": TEXT,
        "image_size": SIZE,
        "dvae_steps": 3,
        "codes": CODES,
        "d_code": 6,
        "dvae_width": 10,
        "d_model": 14,
        "num_layers": 3,
        "num_heads": 2,
        "ranker_width": 10,
        "ranker_layers": 1,
        "kernel": 3,
    }
    return Settings.model_validate({**given, **changes})


def batch() -> CaptionBatch:
    lengths = torch.tensor([3, 6, 1, 4, 2])
    return CaptionBatch(
        torch.rand(B, 3, SIZE, SIZE), torch.randint(0, V, (B, 6)), lengths, int(lengths.sum())
    )


def test_the_discrete_vae_learns_to_reconstruct() -> None:
    """Images of four flat squares in four shades, for which four codes suffice."""
    shades = torch.tensor([[0.1, 0.1, 0.9], [0.9, 0.5, 0.1], [0.2, 0.8, 0.3], [1.0, 1.0, 1.0]])
    squares = shades[torch.randint(0, 4, (32, 3, 3))].permute(0, 3, 1, 2)
    pixels = squares.repeat_interleave(4, dim=2).repeat_interleave(4, dim=3)
    vae = DiscreteVAE(3, 16, 8, 24, halvings=2, blocks=0, encoder_blocks=0)
    optimizer = torch.optim.Adam(vae.parameters(), lr=1e-2)
    for step in range(150):
        again, _ = vae(pixels, temperature(step, 120, 1 / 16))
        loss = (again - pixels).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        codes = vae.codes(pixels)
        assert (vae.pixels(codes, 3) - pixels).square().mean() < 0.01
    assert len(set(codes.flatten().tolist())) == 4


def test_schedules_start_and_end_at_their_bounds() -> None:
    assert (temperature(0, 10, 0.1), temperature(10, 10, 0.1), temperature(99, 10, 0.1)) == (1.0, 0.1, 0.1)
    assert (kl_weight(0, 10, 6.6), kl_weight(10, 10, 6.6)) == (0.0, 6.6)
    assert 0.1 < temperature(5, 10, 0.1) < 1
    assert 0 < kl_weight(5, 10, 6.6) < 6.6


def test_divergence_from_uniform_is_zero_for_uniform_and_log_k_for_one_code() -> None:
    assert_close(kl_to_uniform(torch.zeros(1, CODES, 1, 1)), torch.tensor(0.0), atol=1e-6, rtol=0)
    certain = torch.zeros(1, CODES, 1, 1)
    certain[0, 4] = 100
    assert_close(kl_to_uniform(certain), torch.tensor(float(CODES)).log())


def test_a_first_stage_with_its_own_rate_is_exposed_to_training() -> None:
    assert DALLE(settings()).first is None
    assert DALLE(settings(dvae_learning_rate=5e-3)).first == (3, 5e-3)


def test_each_stage_trains_only_its_own_parts() -> None:
    model = DALLE(settings()).train()
    for step, learns in ((3, {"dvae"}), (4, {"decoder", "ranker"})):
        model.zero_grad(set_to_none=True)
        found = batch()
        objective(model.loss(found, step), found.counts).backward()  # type: ignore[no-untyped-call]
        moved = {name.split(".")[0] for name, weight in model.named_parameters() if weight.grad is not None}
        assert moved == learns


def test_text_and_image_are_weighted_one_to_seven() -> None:
    model = DALLE(settings(caption_dropout=0.0)).eval()
    terms = model.loss(batch(), 4)
    assert terms["loss"].weight / terms["text"].weight == pytest.approx(7)
    assert (terms["text"].per, terms["loss"].per) == ("text_tokens", "images")


def test_the_text_loss_counts_real_tokens_only() -> None:
    model = DALLE(settings(caption_dropout=0.0)).eval()
    found = batch()
    padding = torch.arange(6) >= found.lengths_B[:, None]
    other = CaptionBatch(
        found.pixels_BChw,
        torch.where(padding, (found.text_BT + 1) % V, found.text_BT),
        found.lengths_B,
        found.text_tokens,
    )
    with torch.no_grad():
        first, second = model.loss(found, 4), model.loss(other, 4)
    for name in ("text", "loss", "ranking"):
        assert_close(first[name].sum, second[name].sum)


@pytest.mark.parametrize("attention", ["sparse", "full"])
def test_steps_equal_the_whole_forward(attention: str) -> None:
    model = DALLE(settings(attention=attention, num_layers=5)).eval()
    found, codes = batch(), torch.randint(0, CODES, (B, GRID * GRID))
    with torch.no_grad():
        for weight in model.decoder.parameters():
            torch.nn.init.normal_(weight, std=0.3)
        _, whole = model.decoder(found.text_BT, found.lengths_B, codes)
        for given in (0, 4):
            logits, caches = model.decoder.begin(found.text_BT, found.lengths_B, codes[:, :given])
            for place in range(given, GRID * GRID):
                assert_close(logits, whole[:, place], atol=1e-4, rtol=1e-4)
                if place + 1 < GRID * GRID:
                    logits = model.decoder.step(codes[:, place], caches)


def test_the_decoder_does_not_see_the_code_it_predicts() -> None:
    model = DALLE(settings()).eval()
    found, codes = batch(), torch.randint(0, CODES, (B, GRID * GRID))
    other = codes.clone()
    other[:, 5:] = (other[:, 5:] + 1) % CODES
    with torch.no_grad():
        first, second = (model.decoder(found.text_BT, found.lengths_B, c)[1] for c in (codes, other))
    assert torch.equal(first[:, :6], second[:, :6])
    assert not torch.equal(first[:, 6:], second[:, 6:])


def test_guidance_of_one_changes_nothing_and_more_moves_away_from_the_unconditional() -> None:
    told, untold = torch.randn(B, CODES), torch.randn(B, CODES)
    both = torch.cat([told, untold])
    assert_close(guide(both, 1.0), told.log_softmax(-1))
    assert_close(guide(both, 0.0), untold.log_softmax(-1))
    assert_close(guide(both, 3.0), 3 * told.log_softmax(-1) - 2 * untold.log_softmax(-1))


def test_layouts_follow_the_paper() -> None:
    """Row, except column in every fourth layer from the second on, and convolution in the last (app. B.1)."""
    assert settings(num_layers=7).layouts == [
        "row",
        "column",
        "row",
        "row",
        "row",
        "column",
        "convolution",
    ]


def test_the_ranker_learns_which_image_goes_with_which_text() -> None:
    model = DALLE(settings())
    found = batch()
    optimizer = torch.optim.Adam(model.ranker.parameters(), lr=1e-2)
    for _ in range(40):
        loss, first = model.ranker.loss(found.text_BT, found.lengths_B, found.pixels_BChw)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    assert int(first) == B


@pytest.mark.parametrize(
    ("changes", "fact"),
    [
        ({"num_heads": 3}, "d_model 14 is not a multiple of num_heads 3"),
        ({"image_size": 10}, "image_size 10 cannot be halved 2 times"),
        ({"kernel": 4}, "kernel 4 is even"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(changes: dict[str, object], fact: str) -> None:
    with pytest.raises(ValidationError, match=fact):
        settings(**changes)
