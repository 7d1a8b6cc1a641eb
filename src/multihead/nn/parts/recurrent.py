"""Stacks of recurrent layers that read whole sequences, or one step at a time, with the same weights."""

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from multihead.nn.modules import Dropout
from multihead.nn.parts.cells import RecurrentCell

State = tuple[Tensor, ...]
"""The layers' states, lowest layer first, each (B, d): h and c of an LSTM layer, h of the others."""


class RecurrentStack(nn.Module):
    """A stack of num_layers recurrent layers, with dropout in between (Zaremba et al. 2014).

    Args:
        cell: kind of the layers, one of ``nn.cells``.
        d_in: width of the input.
        d_hidden: width of a layer's state, in each direction.
        num_layers: number of layers.
        dropout: dropout of the input of every layer but the lowest.
    """

    def __init__(
        self, cell: RecurrentCell, d_in: int, d_hidden: int, num_layers: int, *, dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.cell, self.d_out = cell, d_hidden
        self.layers = nn.ModuleList(
            cell.make(d_hidden if number else d_in, d_hidden) for number in range(num_layers)
        )
        self.dropout = Dropout(dropout)

    @property
    def state_size(self) -> int:
        """Number of tensors in the stack's state."""
        return self.cell.parts * len(self.layers)

    def forward(
        self, x_BNd: Tensor, lengths_B: Tensor | None = None, state: State | None = None
    ) -> tuple[Tensor, State]:
        """Read whole sequences; return the top layer's outputs, (B, N, d_out), and every layer's last state.

        Args:
            x_BNd: the input, padded on the right.
            lengths_B: true lengths: the last states are those after the last real position, and outputs
                beyond it are 0; None: no padding.
            state: the initial state; None: zeros.
        """
        out: Tensor | PackedSequence = x_BNd
        ends: tuple[Tensor, Tensor] | None = None
        if lengths_B is not None:
            # An LSTM's last c is not among the outputs, so its sequences are packed. Packing gives every step
            # another number of rows, and oneDNN keeps gigabytes of compiled products for so many shapes.
            if self.cell.parts > 1:
                out = _pack(x_BNd, lengths_B)
            else:
                ends = torch.arange(len(x_BNd), device=x_BNd.device), lengths_B - 1
        finals: list[Tensor] = []
        befores = [None] * len(self.layers) if state is None else self._by_layer(state)
        for number, (layer, before) in enumerate(zip(self.layers, befores, strict=True)):
            if number:
                out = self._dropout(out)
            out, last = layer(out, None if before is None else _with_axis(before))
            parts = last if isinstance(last, tuple) else (last,)
            finals += [out[ends]] if ends and isinstance(out, Tensor) else [part[0] for part in parts]
        if isinstance(out, PackedSequence):
            out, _ = pad_packed_sequence(out, batch_first=True, total_length=x_BNd.shape[1])
        elif lengths_B is not None:
            beyond_BN = torch.arange(x_BNd.shape[1], device=x_BNd.device) >= lengths_B[:, None]
            out = out.masked_fill(beyond_BN[:, :, None], 0)
        return out, tuple(finals)

    def step(self, x_Bd: Tensor, state: State) -> tuple[Tensor, State]:
        """Read one position; return the top layer's h, (B, d_out), and the new state."""
        new: list[Tensor] = []
        for number, (layer, before) in enumerate(zip(self.layers, self._by_layer(state), strict=True)):
            if number:
                x_Bd = self.dropout(x_Bd)
            after = self.cell.advance(layer, x_Bd, before)
            new += after
            x_Bd = after[0]
        return x_Bd, tuple(new)

    def top(self, state: State) -> Tensor:
        """The top layer's h, (B, d_out)."""
        return state[-self.cell.parts]

    def _by_layer(self, state: State) -> list[tuple[Tensor, ...]]:
        parts = self.cell.parts
        return [state[first : first + parts] for first in range(0, len(state), parts)]

    def _dropout(self, x: Tensor | PackedSequence) -> Tensor | PackedSequence:
        if isinstance(x, Tensor):
            dropped: Tensor = self.dropout(x)
            return dropped
        return PackedSequence(self.dropout(x.data), x.batch_sizes, x.sorted_indices, x.unsorted_indices)


class BidirectionalStack(nn.Module):
    """A stack of num_layers bidirectional recurrent layers (Bahdanau et al. 2015, sec. 3.2).

    Each layer reads the concatenated outputs of both directions below it. Arguments as of
    :class:`RecurrentStack`; the output is 2 d_hidden wide, [forward; backward].
    """

    def __init__(
        self, cell: RecurrentCell, d_in: int, d_hidden: int, num_layers: int, *, dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.d_out = 2 * d_hidden
        widths = [self.d_out if number else d_in for number in range(num_layers)]
        self.forwards, self.backwards = (
            nn.ModuleList(cell.make(width, d_hidden) for width in widths) for _ in range(2)
        )
        self.dropout = Dropout(dropout)

    def forward(self, x_BNd: Tensor, lengths_B: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Return the top layer's outputs, (B, N, d_out), and the last h of both directions of every layer.

        The backward direction reads each sentence reversed within its length, padding last. Packed sequences
        would skip the padding, but cost more than they save in batches of similar lengths.

        Args:
            x_BNd: the input, padded on the right.
            lengths_B: true lengths; outputs beyond them are undefined.
        """
        positions_N = torch.arange(x_BNd.shape[1], device=x_BNd.device)
        mirrored_BN = lengths_B[:, None] - 1 - positions_N
        mirrored_BN1 = torch.where(mirrored_BN >= 0, mirrored_BN, positions_N)[:, :, None]
        last_B = torch.arange(len(x_BNd), device=x_BNd.device), lengths_B - 1

        def mirrored(y_BNd: Tensor) -> Tensor:
            return y_BNd.gather(1, mirrored_BN1.expand(-1, -1, y_BNd.shape[2]))

        finals: list[Tensor] = []
        for number, (forwards, backwards) in enumerate(zip(self.forwards, self.backwards, strict=True)):
            if number:
                x_BNd = self.dropout(x_BNd)
            forward_BNd, _ = forwards(x_BNd)
            backward_BNd, _ = backwards(mirrored(x_BNd))
            finals.append(torch.cat([forward_BNd[last_B], backward_BNd[last_B]], dim=1))
            x_BNd = torch.cat([forward_BNd, mirrored(backward_BNd)], dim=2)
        return x_BNd, tuple(finals)


def _pack(x_BNd: Tensor, lengths_B: Tensor) -> PackedSequence:
    return pack_padded_sequence(x_BNd, lengths_B.cpu(), batch_first=True, enforce_sorted=False)


def _with_axis(state: tuple[Tensor, ...]) -> Tensor | tuple[Tensor, ...]:
    """The state with the leading axis that PyTorch's layers expect, layers times directions."""
    parts = tuple(part[None].contiguous() for part in state)
    return parts if len(parts) > 1 else parts[0]
