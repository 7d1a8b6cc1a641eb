"""The store of documents for download: bounded in number, size and time."""

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from serving import service

from multihead.apps.serve import documents
from multihead.apps.serve.app import Serving
from multihead.apps.serve.documents import Documents, TranslatedDocument
from multihead.apps.serve.handling import Handling
from multihead.apps.serve.refusal import RefusedError

REQUEST: Any = SimpleNamespace(state=SimpleNamespace(notes={}, client="a"))


def test_the_oldest_finished_document_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "KEPT_DOCUMENTS", 3)
    monkeypatch.setattr(documents, "KEPT_BYTES", 11)
    with service(("de", "en")) as served:
        store = Documents(Handling(served, Serving()), None)
        ids = [store.keep(REQUEST, "a.txt", TranslatedDocument(b"12", [], [])) for _ in range(5)]
        assert [store.find(id).name for id in ids[2:]] == ["a.txt"] * 3
        with pytest.raises(RefusedError, match="no such document"):
            store.find(ids[1])
        large = store.keep(REQUEST, "b.txt", TranslatedDocument(b"1234567", [], []))
        assert store.find(large).name == "b.txt"
        with pytest.raises(RefusedError, match="no such document"):
            store.find(ids[2])
        store.find(ids[4]).until = -1.0
        with pytest.raises(RefusedError, match="no such document"):
            store.find(ids[4])
        with pytest.raises(RefusedError, match="too many documents at once"):
            store.keep(REQUEST, "c.txt", TranslatedDocument(bytes(12), [], []))


def test_documents_in_progress_are_kept_and_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "KEPT_DOCUMENTS", 2)

    async def begin_three(store: Documents, direction: Any) -> None:
        path = Path("a.txt")
        ids = [store.begin(REQUEST, path, b"1", direction) for _ in range(2)]
        with pytest.raises(RefusedError, match="too many documents at once"):
            store.begin(REQUEST, path, b"1", direction)
        while not all(store.find(id).until for id in ids):
            await asyncio.sleep(0.01)
        assert [store.find(id).error for id in ids] == ["the document could not be translated"] * 2
        store.begin(REQUEST, path, b"1", direction)

    def fail(*_: object) -> TranslatedDocument:
        raise ValueError

    with service(("de", "en")) as served:
        asyncio.run(begin_three(Documents(Handling(served, Serving()), fail), served.directions[0]))
