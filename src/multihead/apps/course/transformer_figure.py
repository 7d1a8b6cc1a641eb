"""Figure 1 of Vaswani et al. (2017), drawn from a model: its layers, heads, widths and parameter counts."""

import html
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from torch import nn

from multihead.errors import UserError
from multihead.models.transformer import Transformer
from multihead.nn import MultiHeadAttention, PostNorm, PreNorm
from multihead.nn.layers import DecoderLayer, EncoderLayer
from multihead.nn.positions import NoPositions

Language = Literal["en", "ko"]
COLOURS = {
    "attention": "#fbdcb8",
    "norm": "#f4f2b6",
    "network": "#c5e3f4",
    "embedding": "#f8d7dc",
    "linear": "#dcdcf0",
    "softmax": "#cfe8d0",
}
"""Fills of the boxes, close to those of the paper."""
TEXTS: Mapping[Language, Mapping[str, str]] = {
    "en": {
        "title": "The Transformer: {total:,} parameters",
        "encoder": "encoder",
        "decoder": "decoder",
        "self": "Multi-head attention",
        "masked": "Masked multi-head attention",
        "cross": "Multi-head attention",
        "network": "Feed forward",
        "add_norm": "Add & norm",
        "add": "Add",
        "norm": "Norm",
        "source_embedding": "Input embedding",
        "target_embedding": "Output embedding",
        "shared": "same matrix",
        "positions": "positions",
        "linear": "Linear",
        "softmax": "Softmax",
        "source": "source",
        "target": "target, shifted right",
        "output": "probabilities of the next token",
        "heads": "{heads} heads, d_k = {d_k}",
        "tokens": "{tokens} × {width}",
    },
    "ko": {
        "title": "트랜스포머: 매개변수 {total:,}개",
        "encoder": "인코더",
        "decoder": "디코더",
        "self": "멀티 헤드 어텐션",
        "masked": "마스크 멀티 헤드 어텐션",
        "cross": "멀티 헤드 어텐션",
        "network": "피드포워드",
        "add_norm": "덧셈과 정규화",
        "add": "덧셈",
        "norm": "정규화",
        "source_embedding": "입력 임베딩",
        "target_embedding": "출력 임베딩",
        "shared": "같은 행렬",
        "positions": "위치",
        "linear": "선형 층",
        "softmax": "소프트맥스",
        "source": "원문",
        "target": "한 칸 민 목표 문장",
        "output": "다음 토큰의 확률",
        "heads": "헤드 {heads}개, d_k = {d_k}",
        "tokens": "{tokens} × {width}",
    },
}
WIDTH, BOX, GAP, FORK = 560, 196, 16, 34
"""Widths of the drawing and of a box; gaps between boxes, and below the three inputs of an attention."""
FONTS = "system-ui, 'Apple SD Gothic Neo', 'Malgun Gothic', 'Noto Sans CJK KR', 'Noto Sans KR', sans-serif"


class SvgFigure:
    """A drawing that a notebook shows by itself."""

    def __init__(self, svg: str) -> None:
        self.svg = svg

    def _repr_svg_(self) -> str:
        return self.svg


def transformer_figure(model: Transformer, language: Language = "en") -> SvgFigure:
    """Return figure 1 of the paper with the numbers of a model.

    Args:
        model: a Transformer with attention in every sublayer, pre-norm or post-norm.
        language: of the labels.

    Raises:
        UserError: the model has other sublayers or residual connections, or the language is another.
    """
    if language not in TEXTS:
        raise UserError(f"no labels in {language!r}", remedy=f"One of: {', '.join(TEXTS)}.")
    words = TEXTS[language]
    encoder = _Column(cx=140, outwards=-1, words=words)
    decoder = _Column(cx=420, outwards=1, words=words)
    s = model.settings
    shared = model.target_embedding is model.source_embedding
    encoder.inputs(model.source_embedding, model.source_positions, "source", shared=False)
    decoder.inputs(model.target_embedding, model.target_positions, "target", shared=shared)
    memory = encoder.stack("encoder", model.encoder.layers, s.d_model, s.d_ff, model.encoder.norm)
    decoder.stack("decoder", model.decoder.layers, s.d_model, s.d_ff, model.decoder.norm, memory)
    tied = model.output is model.target_embedding
    bias = 0 if model.output_bias is None else model.output_bias.numel()
    linear = f"{s.d_model} → {s.target_vocab}"
    detail = f"{linear}, {words['shared']}" if tied else linear
    decoder.box("linear", words["linear"], detail, bias + (0 if tied else _count(model.output)))
    decoder.box("softmax", words["softmax"])
    decoder.label(words["output"])
    total = _count(model)
    title = words["title"].format(total=total)
    top = decoder.y - 34
    heading = _text(WIDTH / 2, top + 20, title, 15, bold=True)
    return SvgFigure(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 {top:g} {WIDTH} {-top + 8:g}" '
        f'width="{WIDTH}" height="{-top + 8:g}" font-family="{FONTS}" role="img">'
        f"<title>{html.escape(title)}</title>"
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6" markerHeight="6" '
        'orient="auto"><path d="M0 0L8 4L0 8z" fill="#333"/></marker></defs>'
        f"{''.join([*encoder.frames, *decoder.frames, *encoder.parts, *decoder.parts])}{heading}</svg>"
    )


def _count(part: nn.Module) -> int:
    return sum(parameter.numel() for parameter in part.parameters())


def _text(
    x: float, y: float, text: str, size: float = 13, *, bold: bool = False, anchor: str = "middle"
) -> str:
    weight = ' font-weight="600"' if bold else ""
    return (
        f'<text x="{x:g}" y="{y:g}" font-size="{size:g}" text-anchor="{anchor}" fill="#1d2430"{weight}>'
        f"{html.escape(text)}</text>"
    )


def _path(*points: tuple[float, float], arrow: bool = True) -> str:
    line = "L".join(f"{x:g} {y:g}" for x, y in points)
    tip = ' marker-end="url(#tip)"' if arrow else ""
    return f'<path d="M{line}" fill="none" stroke="#333" stroke-width="1.3"{tip}/>'


@dataclass
class _Column:
    """One of the two stacks, drawn from the bottom upwards; y is the upper end of what is drawn."""

    cx: float
    outwards: int
    words: Mapping[str, str]
    y: float = 0.0
    times: int = 1
    parts: list[str] = field(default_factory=list)
    frames: list[str] = field(default_factory=list)

    def label(self, text: str) -> None:
        """Write a text above the column, at the end of an arrow."""
        if self.y:
            self.parts.append(_path((self.cx, self.y), (self.cx, self.y - GAP)))
            self.y -= GAP
        self.parts.append(_text(self.cx, self.y - 6, text))
        self.y -= 22

    def box(self, colour: str, name: str, detail: str = "", parameters: int | None = None) -> None:
        """Put a box on the column, with an arrow into it."""
        self.parts.append(_path((self.cx, self.y), (self.cx, self.y - GAP)))
        self.y -= GAP
        self._box(colour, name, detail, parameters)

    def _box(self, colour: str, name: str, detail: str = "", parameters: int | None = None) -> None:
        height = 40 if detail or parameters else 24
        left, self.y = self.cx - BOX / 2, self.y - height
        counted = f' data-parameters="{parameters * self.times}"' if parameters else ""
        self.parts.append(
            f'<rect x="{left:g}" y="{self.y:g}" width="{BOX}" height="{height}" rx="6" '
            f'fill="{COLOURS[colour]}" stroke="#333"{counted}/>'
        )
        self.parts.append(_text(self.cx, self.y + 16.5, name))
        if detail and parameters:
            self.parts.append(_text(left + 8, self.y + 33, detail, 11, anchor="start"))
            number = _text(left + BOX - 8, self.y + 33, f"{parameters:,}", 11, bold=True, anchor="end")
            self.parts.append(number)
        elif detail or parameters:
            text = detail or f"{parameters:,}"
            self.parts.append(_text(self.cx, self.y + 33, text, 11, bold=bool(parameters)))

    def inputs(self, embedding: nn.Embedding, positions: nn.Module, name: str, *, shared: bool) -> None:
        """Draw the tokens, their embedding, and the positions that are added to it."""
        self.label(self.words[name])
        size = self.words["tokens"].format(tokens=embedding.num_embeddings, width=embedding.embedding_dim)
        detail = f"{size}, {self.words['shared']}" if shared else size
        parameters = None if shared else _count(embedding)
        self.box("embedding", self.words[f"{name}_embedding"], detail, parameters)
        if isinstance(positions, NoPositions):
            return
        centre = self.y - GAP - 9
        self.parts.append(_path((self.cx, self.y), (self.cx, self.y - GAP)))
        x, anchor = self.cx + self.outwards * 44, "start" if self.outwards > 0 else "end"
        counted = f' data-parameters="{_count(positions)}"' if _count(positions) else ""
        wave = "".join(f"q4 {height} 8 0" for height in (-9, 9, -9, 9))
        self.parts += [
            f'<circle cx="{self.cx:g}" cy="{centre:g}" r="9" fill="#fff" stroke="#333"/>',
            _path((self.cx - 5, centre), (self.cx + 5, centre), arrow=False),
            _path((self.cx, centre - 5), (self.cx, centre + 5), arrow=False),
            _path((x - self.outwards * 16, centre), (self.cx + self.outwards * 9, centre)),
            f'<circle cx="{x:g}" cy="{centre:g}" r="16" fill="#fff" stroke="#333"{counted}/>',
            f'<path d="M{x - 16:g} {centre:g}{wave}" fill="none" stroke="#333"/>',
            _text(x + self.outwards * 22, centre + 4, self.words["positions"], 12, anchor=anchor),
        ]
        if _count(positions):
            number = _text(
                x + self.outwards * 22, centre + 18, f"{_count(positions):,}", 11, bold=True, anchor=anchor
            )
            self.parts.append(number)
        self.y = centre - 9

    def stack(
        self,
        name: str,
        layers: nn.ModuleList,
        d_model: int,
        d_ff: int,
        final_norm: nn.Module,
        memory: float | None = None,
    ) -> float:
        """Draw a stack of equal layers as one layer and their number; return where its output leaves."""
        layer, self.times = layers[0], len(layers)
        widths = f"{d_model} → {d_ff} → {d_model}"
        bottom = self.y - 12
        self.parts.append(_path((self.cx, self.y), (self.cx, bottom), arrow=False))
        self.y = bottom
        if type(layer) is EncoderLayer:
            self._sublayer(layer.around_attention, layer.self_attention, "self")
        elif type(layer) is DecoderLayer:
            self._sublayer(layer.around_self, layer.self_attention, "masked")
            self._sublayer(layer.around_cross, layer.cross_attention, "cross", memory)
        else:
            raise UserError(
                f"figure 1 has no {type(layer).__name__}", remedy="Draw a model whose sublayers attend."
            )
        self._sublayer(layer.around_feed_forward, layer.feed_forward, "network", detail=widths)
        top = self.y - 12
        self.parts.append(_path((self.cx, self.y), (self.cx, top), arrow=False))
        x = self.cx - BOX / 2 - 28
        self.frames.append(
            f'<rect x="{x:g}" y="{top:g}" width="{BOX + 56}" height="{bottom - top:g}" rx="10" '
            'fill="#f4f6f9" stroke="#8a93a0"/>'
        )
        number, each = len(layers), _count(layer)
        self.parts.append(
            _text(
                self.cx + self.outwards * (BOX / 2 + 24),
                top - 6,
                f"{number} × {each:,}",
                13,
                bold=True,
                anchor="end" if self.outwards > 0 else "start",
            )
        )
        self.parts.append(
            _text(
                self.cx - self.outwards * (BOX / 2 + 24),
                bottom + 15,
                self.words[name],
                12,
                anchor="start" if self.outwards > 0 else "end",
            )
        )
        self.parts.append(_path((self.cx, top), (self.cx, top - 10), arrow=False))
        self.y, self.times = top - 10, 1
        if _count(final_norm):
            self.box("norm", self.words["norm"], parameters=_count(final_norm))
        return self.y

    def _sublayer(
        self, frame: nn.Module, part: nn.Module, name: str, memory: float | None = None, detail: str = ""
    ) -> None:
        if type(frame) not in (PostNorm, PreNorm):
            raise UserError(
                f"figure 1 has no {type(frame).__name__} around a sublayer",
                remedy='Draw a model with norm = "post" or "pre".',
            )
        before = type(frame) is PreNorm
        branch = self.y - 8
        if before:
            self.box("norm", self.words["norm"], parameters=_count(frame))
        if isinstance(part, MultiHeadAttention):
            self._fork(memory)
            detail = self.words["heads"].format(heads=part.num_heads, d_k=part.d_k)
            self._box("attention", self.words[name], detail, _count(part))
        else:
            self.box("network", self.words[name], detail, _count(part))
        if before:
            self.box("norm", self.words["add"])
        else:
            self.box("norm", self.words["add_norm"], parameters=_count(frame))
        side = self.cx + self.outwards * BOX / 2
        outside = side + self.outwards * 16
        middle = self.y + (12 if before else 20)
        self.parts.append(_path((self.cx, branch), (outside, branch), (outside, middle), (side, middle)))

    def _fork(self, memory: float | None) -> None:
        """Draw the inputs of an attention: queries, keys and values; of the encoder's if ``memory``."""
        start, end = self.y, self.y - FORK
        level = end + 12
        if memory is None:
            self.parts.append(_path((self.cx, start), (self.cx, end)))
            for x in (self.cx - 52, self.cx + 52):
                self.parts.append(_path((self.cx, level), (x, level), (x, end)))
        else:
            between = WIDTH / 2
            self.parts.append(
                _path((self.cx, start), (self.cx, start - 8), (self.cx + 52, start - 8), (self.cx + 52, end))
            )
            self.parts.append(
                _path(
                    (140, memory),
                    (140, memory - 34),
                    (between, memory - 34),
                    (between, level),
                    (self.cx, level),
                    (self.cx, end),
                )
            )
            self.parts.append(_path((self.cx - 52, level), (self.cx - 52, end)))
        self.y = end
