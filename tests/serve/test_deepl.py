"""DeepL's API."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from serving import post, reversing, send

from multihead.apps.serve.app import Serving
from multihead.apps.serve.glossaries import Glossaries, entries_of
from multihead.apps.serve.refusal import RefusedError
from multihead.errors import UserError


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("glossaries")
    with reversing(("de", "en"), ("de", "fr"), serving=Serving(glossaries=Glossaries(folder=folder))) as at:
        yield at


def test_texts_are_translated_with_the_language_they_are_in(address: str) -> None:
    fields = {"text": ["ab", "cd"], "target_lang": "EN-US", "source_lang": "DE"}
    status, answer = post(f"{address}/v2/translate", **fields, show_billed_characters=True)
    assert status == 200
    one, other = answer["translations"]
    assert one == {"detected_source_language": "DE", "text": "ba", "billed_characters": 2}
    assert other["text"] == "dc"
    form = b"text=ab&text=cd&target_lang=FR&tag_handling=html"
    status, answer, _ = send(f"{address}/v2/translate", form, "application/x-www-form-urlencoded")
    assert [one["text"] for one in json.loads(answer)["translations"]] == ["ba", "dc"]


def test_sentences_are_split_unless_that_is_switched_off(address: str) -> None:
    fields = {"text": ["Ja. Nein."], "target_lang": "EN"}
    assert post(f"{address}/v2/translate", **fields)[1]["translations"][0]["text"] == ".aJ .nieN"
    answer = post(f"{address}/v2/translate", **fields, split_sentences="0")[1]
    assert answer["translations"][0]["text"] == ".nieN .aJ"


@pytest.mark.parametrize(
    ("fields", "fact"),
    [
        ({"formality": "more"}, '"formality" must be one of default, prefer_more, prefer_less'),
        ({"tag_handling": "xml"}, '"tag_handling" must be one of html'),
        ({"context": "a letter"}, 'unknown field "context"'),
        ({"glossary_id": "x"}, '"glossary_id" needs "source_lang"'),
        ({"target_lang": None}, '"target_lang" must be a language code'),
        ({"target_lang": "KO"}, "this server translates"),
        ({"text": 3}, '"text" must be'),
    ],
)
def test_an_option_without_effect_is_refused(address: str, fields: dict[str, object], fact: str) -> None:
    status, answer = post(f"{address}/v2/translate", **{"text": ["a"], "target_lang": "EN", **fields})
    assert status == 400
    assert fact in answer["message"]


def test_languages_and_usage_are_reported(address: str) -> None:
    targets = json.loads(send(f"{address}/v2/languages?type=target")[1])
    assert targets[0] == {"language": "EN", "name": "English", "supports_formality": False}
    assert json.loads(send(f"{address}/v2/languages")[1]) == [{"language": "DE", "name": "German"}]
    before = json.loads(send(f"{address}/v2/usage")[1])["character_count"]
    post(f"{address}/v2/translate", text=["abcde"], target_lang="EN")
    assert json.loads(send(f"{address}/v2/usage")[1])["character_count"] == before + 5


def test_a_glossary_is_made_listed_used_and_deleted(address: str) -> None:
    fields = {"name": "g", "source_lang": "de", "target_lang": "en"}
    status, made = post(f"{address}/v2/glossaries", **fields, entries="abc\tcba", entries_format="tsv")
    assert (status, made["entry_count"], made["ready"]) == (201, 1, True)
    path = f"{address}/v2/glossaries/{made['glossary_id']}"
    assert json.loads(send(f"{address}/v2/glossaries")[1])["glossaries"] == [made]
    assert json.loads(send(path)[1]) == made
    assert send(f"{path}/entries")[1] == "abc\tcba"
    text = {"text": ["abc"], "source_lang": "DE", "glossary_id": made["glossary_id"]}
    answer = post(f"{address}/v2/translate", **text, target_lang="EN")[1]
    assert answer["translations"][0] == {"detected_source_language": "DE", "text": "cba"}
    status, answer = post(f"{address}/v2/translate", **text, target_lang="FR")
    assert (status, answer["message"]) == (400, "the glossary is from de to en")
    assert send(path, method="DELETE")[0] == 204
    assert send(path)[0] == 404


@pytest.mark.parametrize(
    ("entries", "fact"),
    [
        ("", "1 to 10,000 terms"),
        ("a", "entry 1 is not a source and a target term"),
        ("a\tb\tc", "entry 1 is not"),
        ("a\t", "entry 1 is not"),
        ("a\tb\na\tc", '"a" is "c" here and "b" at entry 1'),
        ("a\tb\nb\ta", "terms that translate each other"),
    ],
)
def test_a_glossary_with_errors_is_refused(address: str, entries: str, fact: str) -> None:
    fields = {"name": "g", "source_lang": "de", "target_lang": "en", "entries": entries}
    status, answer = post(f"{address}/v2/glossaries", **fields)
    assert status == 400
    assert fact in answer["message"]


def test_glossaries_of_clients_survive_a_restart_and_belong_to_their_key(tmp_path: Path) -> None:
    made = Glossaries(folder=tmp_path).make("g", "de", "en", entries_of('a,"b, c"\n', "csv"), "shop")
    again = Glossaries(folder=tmp_path)
    assert again.of(made.id, "shop").entries == (("a", "b, c"),)
    with pytest.raises(RefusedError, match="no such glossary"):
        again.of(made.id, "lab")
    assert again.of_owner("lab") == []
    (tmp_path / "x.json").write_text("[]")
    with pytest.raises(UserError, match=r"x\.json: not a glossary"):
        Glossaries(folder=tmp_path)
