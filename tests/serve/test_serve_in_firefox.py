"""The web page in Firefox."""

from collections.abc import Iterator

import pytest
from accessibility import faults_in_firefox
from firefox import Marionette, open_firefox
from serving import running, service
from small_translators import trained_translator


@pytest.fixture(scope="module")
def firefox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Marionette]:
    yield from open_firefox(tmp_path_factory.mktemp("firefox"))


def test_a_text_is_translated_and_its_words_light_up(firefox: Marionette) -> None:
    with service(("de", "en"), translator=trained_translator()) as served, running(served) as address:
        firefox("WebDriver:Navigate", {"url": f"{address}/#q=die+Hunde+schlafen"})
        firefox.wait_for("document.querySelector('#output').innerText.trim() === 'the dogs sleep'")
        assert firefox.run("document.querySelector('#source').selectedOptions[0].text") == "German (auto)"
        word = "document.querySelector('#output .word')"
        firefox.wait_for(f"{word}.style.getPropertyValue('--doubt-alpha') !== ''")
        firefox.run(f"{word}.dispatchEvent(new PointerEvent('pointerover', {{bubbles: true}}))")
        firefox.wait_for("document.querySelectorAll('#mirror .word.lit').length > 0")
        firefox.run(f"{word}.click()")
        firefox.wait_for("document.querySelector('#choices button') !== null")
        assert faults_in_firefox(firefox) == []
