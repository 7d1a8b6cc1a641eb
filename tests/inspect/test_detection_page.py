"""The page of a detected image: its objects, what their queries attend to, in English and Korean."""

import numpy as np
from PIL import Image

from multihead.tasks.detection.attention import DetectionInspection
from multihead.tasks.detection.detector import DetectedObject
from multihead.tasks.detection.inspection import page_of

CAT = DetectedObject("<b>cat", 0.93, (10, 10, 60, 50))


def page(*found: DetectedObject) -> str:
    weights_LHQrc = np.random.default_rng(5).random((2, 3, max(1, len(found)), 5, 7), dtype=np.float32)
    image = Image.new("RGB", (120, 90))
    seen = DetectionInspection("street.png", image, found, weights_LHQrc)
    return page_of(seen, ("<b>cat",), "runs/detr").html


def test_a_page_has_the_boxes_and_an_image_for_each_decoder_layer_and_speaks_both_languages() -> None:
    html = page(CAT, DetectedObject("<b>cat", 0.31, (0, 0, 5, 5)))
    assert html.count("data:image/png;base64,") == 3  # the boxes, and one a layer
    assert 'data-ko="점수가 0.5 이상인 물체 1개">1 objects' in html
    assert 'data-ko="디코더 2층">Decoder layer 2<' in html
    assert 'data-ko="&lt;b&gt;cat 0.93, 테두리 10 10 60 50 (쿼리 1)"' in html
    assert "<b>cat" not in html


def test_an_image_without_objects_says_so() -> None:
    assert 'data-ko="물체 없음">no object<' in page()
