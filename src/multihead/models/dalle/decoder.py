"""The decoder over text tokens followed by an image's codes (Ramesh et al. 2021, sec. 2.2, app. B.1)."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from multihead.nn import FeedForward, MultiHeadAttention, PreNorm
from multihead.nn.decoding import LayerCache
from multihead.nn.initialisation import initialise
from multihead.nn.modules import Dropout
from multihead.nn.parts.causal import CausalStack
from multihead.nn.parts.sparse_layouts import Kind, SparseAttention, SparseLayout


class ImageDecoder(nn.Module):
    """Maps text and the codes so far to logits of the next text token or code.

    Args:
        vocab_size: size of the text vocabulary.
        text_length: T, text positions; shorter text is padded with a distinct token at each position.
        codes: K, size of the codebook.
        grid: rows, and columns, of codes.
        d_model: width.
        num_layers: number of layers.
        num_heads: number of attention heads.
        dropout: of sublayers and embeddings.
        layouts: the layers' attention layouts, see ``nn.sparse_layouts``.
        kernel: height and width of the convolutional layout.
    """

    def __init__(
        self,
        *,
        vocab_size: int,
        text_length: int,
        codes: int,
        grid: int,
        d_model: int,
        num_layers: int,
        num_heads: int,
        dropout: float,
        layouts: Sequence[Kind],
        kernel: int,
    ) -> None:
        super().__init__()
        self.vocab_size, self.text_length, self.grid = vocab_size, text_length, grid
        kinds = iter(layouts)

        def attention() -> MultiHeadAttention:
            # The begin symbol precedes the text.
            layout = SparseLayout(next(kinds), text_length + 1, grid, grid, kernel)
            return MultiHeadAttention(d_model, num_heads, score=SparseAttention(layout))

        self.stack = CausalStack(
            num_layers,
            d_model,
            attention=attention,
            feed_forward=lambda: FeedForward(d_model, 4 * d_model, activation="gelu"),
            residual=PreNorm,
            dropout=dropout,
        )
        initialise(self, "normal")
        self.begin_token = nn.Parameter(torch.randn(d_model) * 0.02)
        # The last text_length rows are the padding tokens, one for each position.
        self.text_embedding = nn.Embedding(vocab_size + text_length, d_model)
        self.text_positions = nn.Parameter(torch.randn(text_length, d_model) * 0.02)
        self.code_embedding = nn.Embedding(codes, d_model)
        self.row_positions = nn.Parameter(torch.randn(grid, d_model) * 0.02)
        self.column_positions = nn.Parameter(torch.randn(grid, d_model) * 0.02)
        for embedding in (self.text_embedding, self.code_embedding):
            nn.init.normal_(embedding.weight, std=0.02)
        self.text_head, self.code_head = nn.Linear(d_model, vocab_size), nn.Linear(d_model, codes)
        for head in (self.text_head, self.code_head):
            nn.init.normal_(head.weight, std=0.02)
            nn.init.zeros_(head.bias)
        self.dropout = Dropout(dropout)

    def forward(self, text_BT: Tensor, lengths_B: Tensor, codes_Bn: Tensor) -> tuple[Tensor, Tensor]:
        """Logits of every text token, (B, T, V), and of every code, (B, n, K), given the previous ones.

        Args:
            text_BT: text ids, padded on the right to any width up to ``text_length``.
            lengths_B: true lengths of the texts.
            codes_Bn: the image's codes; the last one is not read.
        """
        x_BNd = torch.cat([self._text(text_BT, lengths_B), self._codes(codes_Bn[:, :-1], 0)], dim=1)
        hidden_BNd = self.stack(self.dropout(x_BNd))
        T = self.text_length
        return self.text_head(hidden_BNd[:, :T]), self.code_head(hidden_BNd[:, T:])

    def begin(
        self, text_BT: Tensor, lengths_B: Tensor, codes_Bn: Tensor
    ) -> tuple[Tensor, tuple[LayerCache, ...]]:
        """Read text and n >= 0 codes; return the next code's logits, (B, K), and the caches."""
        x_BNd = torch.cat([self._text(text_BT, lengths_B), self._codes(codes_Bn, 0)], dim=1)
        caches = self.stack.begin(len(text_BT))
        hidden_BNd = self.stack.step(x_BNd, caches, None)
        return self.code_head(hidden_BNd[:, -1]), caches

    def step(self, codes_R: Tensor, caches: tuple[LayerCache, ...]) -> Tensor:
        """Append a code to every image, and to the caches; return the next code's logits, (R, K)."""
        position = caches[0].length - self.text_length - 1
        hidden_R1d = self.stack.step(self._codes(codes_R[:, None], position), caches, None)
        logits: Tensor = self.code_head(hidden_R1d[:, 0])
        return logits

    def _text(self, text_BT: Tensor, lengths_B: Tensor) -> Tensor:
        """Embed the begin symbol and the padded text; (B, text_length + 1, d_model)."""
        positions_T = torch.arange(self.text_length, device=text_BT.device)
        missing = self.text_length - text_BT.shape[1]
        ids_BT = torch.nn.functional.pad(text_BT, (0, missing))
        ids_BT = torch.where(positions_T < lengths_B[:, None], ids_BT, self.vocab_size + positions_T)
        x_BTd: Tensor = self.text_embedding(ids_BT) + self.text_positions
        return torch.cat([self.begin_token.expand(len(x_BTd), 1, -1), x_BTd], dim=1)

    def _codes(self, codes_Bn: Tensor, start: int) -> Tensor:
        """Embed codes from index ``start`` on, with row and column positions."""
        index_n = torch.arange(start, start + codes_Bn.shape[1], device=codes_Bn.device)
        positions_nd = self.row_positions[index_n // self.grid] + self.column_positions[index_n % self.grid]
        x_Bnd: Tensor = self.code_embedding(codes_Bn) + positions_nd
        return x_Bnd
