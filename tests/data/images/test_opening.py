"""Image files of all modes are converted; damaged and huge ones are refused."""

import io
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from multihead.data.images.opening import Form, as_image, channels_of, fit_image, open_image
from multihead.errors import UserError

WIDTH, HEIGHT = 11, 7


def saved(tmp_path: Path, image: Image.Image, name: str = "a.png") -> Path:
    image.save(tmp_path / name)
    return tmp_path / name


@pytest.mark.parametrize(
    ("mode", "name", "wanted"),
    [
        ("L", "a.png", "L"),
        ("1", "a.png", "L"),
        ("LA", "a.png", "L"),
        ("I;16", "a.png", "L"),
        ("RGB", "a.png", "RGB"),
        ("RGBA", "a.png", "RGB"),
        ("P", "a.png", "RGB"),
        ("CMYK", "a.jpg", "RGB"),
    ],
)
def test_every_mode_becomes_greyscale_or_colour(tmp_path: Path, mode: str, name: str, wanted: str) -> None:
    image = open_image(saved(tmp_path, Image.new(mode, (WIDTH, HEIGHT)), name))
    assert image.mode == wanted
    assert image.size == (WIDTH, HEIGHT)
    assert channels_of(image) == {"L": 1, "RGB": 3}[wanted]


def test_sixteen_bits_become_eight(tmp_path: Path) -> None:
    values = np.array([[0, 256, 65535]], dtype=np.uint16)
    image = open_image(saved(tmp_path, Image.fromarray(values)))
    assert np.asarray(image).tolist() == [[0, 0, 255]]


def test_fractions_of_a_float_image_become_eight_bits(tmp_path: Path) -> None:
    values = np.array([[0, 0.5, 1]], dtype=np.float32)
    image = open_image(saved(tmp_path, Image.fromarray(values), "a.tif"))
    assert np.asarray(image).tolist() == [[0, 127, 255]]


def test_a_transparent_background_becomes_white(tmp_path: Path) -> None:
    image = Image.new("RGBA", (WIDTH, HEIGHT), (255, 0, 0, 0))
    assert open_image(saved(tmp_path, image)).getpixel((3, 3)) == (255, 255, 255)


@pytest.mark.parametrize("mode", ["L", "RGB"])
def test_a_transparent_colour_becomes_white(tmp_path: Path, mode: str) -> None:
    image = Image.new(mode, (2, 1))
    image.putpixel((1, 0), 90 if mode == "L" else (90, 90, 90))
    image.save(tmp_path / "a.png", transparency=image.getpixel((0, 0)))
    found = open_image(tmp_path / "a.png")
    assert found.mode == mode
    assert np.asarray(found).reshape(2, -1)[:, 0].tolist() == [255, 90]


def test_an_image_is_rotated_by_its_exif_tag(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # the camera was held on its side
    Image.new("RGB", (WIDTH, HEIGHT)).save(tmp_path / "a.jpg", exif=exif)
    assert open_image(tmp_path / "a.jpg").size == (HEIGHT, WIDTH)


def test_an_image_is_centre_cropped_to_a_square() -> None:
    pixels = np.zeros((HEIGHT, WIDTH), dtype=np.uint8)
    pixels[:, 2:9] = 200  # the middle square
    found = fit_image(Image.fromarray(pixels), Form(HEIGHT, 3))
    assert found.shape == (3, HEIGHT, HEIGHT)
    assert (found == 200).all()


@pytest.mark.parametrize("channels", [1, 3])
def test_pixels_survive_conversion_to_an_image_and_back(channels: int) -> None:
    pixels = np.random.default_rng(1).integers(0, 256, (channels, 5, 5), dtype=np.uint8)
    assert np.array_equal(fit_image(as_image(pixels), Form(5, channels)), pixels)


def png(width: int, height: int) -> bytes:
    """A minimal PNG file of one colour and any dimensions."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return (
            struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
        )

    header = struct.pack(">2I5B", width, height, 8, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(b"\0"))
        + chunk(b"IEND", b"")
    )


@pytest.mark.parametrize("side", [8_001, 100_000])
def test_a_decompression_bomb_is_refused_before_it_is_decompressed(tmp_path: Path, side: int) -> None:
    file = tmp_path / "bomb.png"
    file.write_bytes(png(side, side))
    with pytest.raises(UserError, match="more than the maximum size of an image"):
        open_image(file)


def test_a_truncated_png_is_refused_at_every_length(tmp_path: Path) -> None:
    noise = np.random.default_rng(1).integers(0, 256, (17, 13, 3), dtype=np.uint8)
    whole = io.BytesIO()
    Image.fromarray(noise).save(whole, "PNG")
    content, file = whole.getvalue(), tmp_path / "a.png"
    for length in [0, 5, 20, 40, 100, len(content) // 2, len(content) - 30]:
        file.write_bytes(content[:length])
        with pytest.raises(UserError) as caught:
            open_image(file, "list.csv:7")
        assert caught.value.place == "list.csv:7"


@pytest.mark.parametrize(
    ("name", "fact"),
    [("none.png", "no such image"), ("folder", "is a directory"), ("a.txt", "not a readable image")],
)
def test_a_file_that_is_not_an_image_is_refused(tmp_path: Path, name: str, fact: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "a.txt").write_text("hello")
    with pytest.raises(UserError, match=fact):
        open_image(tmp_path / name)


def test_a_format_that_runs_an_external_program_is_refused(tmp_path: Path) -> None:
    """Pillow passes EPS, which is code, to Ghostscript."""
    for name in ("a.eps", "a.png"):
        Image.new("RGB", (WIDTH, HEIGHT)).save(tmp_path / name, format="EPS")
        with pytest.raises(UserError, match="not a readable image"):
            open_image(tmp_path / name)


@pytest.mark.parametrize("name", ["a.gif", "a.bmp", "a.webp", "a.tiff", "a.ppm"])
def test_other_common_formats_are_opened(tmp_path: Path, name: str) -> None:
    assert open_image(saved(tmp_path, Image.new("RGB", (WIDTH, HEIGHT)), name)).size == (WIDTH, HEIGHT)
