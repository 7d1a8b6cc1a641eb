"""GNMT's residual connections and context (Wu et al. 2016, sec. 3)."""

import torch
from ladder import model_of, pairs
from torch.testing import assert_close


def test_layers_from_the_third_on_add_their_input() -> None:
    """With silent layers above, an output is the second layer's."""
    model, batch = model_of("gnmt"), pairs()
    for layer in list(model.decoder)[2:]:
        for parameter in layer.parameters():
            torch.nn.init.zeros_(parameter)
    seen: list[torch.Tensor] = []
    model.decoder[1].register_forward_hook(lambda layer, given, out: seen.append(out[0]))
    assert_close(model.hidden(batch.source, batch.target_in), seen[0])


def test_every_decoder_layer_reads_the_context() -> None:
    model, batch = model_of("gnmt"), pairs()
    d = model.settings.d_hidden
    before = model.hidden(batch.source, batch.target_in)
    for number, layer in enumerate(model.decoder):
        weight = layer.layers[0].weight_ih_l0
        kept = weight.detach().clone()
        with torch.no_grad():
            weight[:, -d:] = 0
        assert not torch.allclose(model.hidden(batch.source, batch.target_in), before), number
        with torch.no_grad():
            weight.copy_(kept)
    assert_close(model.hidden(batch.source, batch.target_in), before)
