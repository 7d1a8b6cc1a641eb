"""Excel workbooks (.xlsx): texts of cells, and of shapes and charts on sheets."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from multihead_documents.office.archive_document import Content, OpenParagraph
from multihead_documents.office.header_codes import LONGEST, HeaderText, header_texts
from multihead_documents.office.package import SHOWN, OfficeDocument
from multihead_documents.office.package_changes import PackageChanges
from multihead_documents.office.xlsx_cells import (
    CellSet,
    CellText,
    Position,
    formula_texts,
    position_of,
    shared_cells,
)
from multihead_documents.office.xlsx_notes import add_notes
from multihead_documents.segment import Segment, Translation
from multihead_documents.splice import Edit, Span
from multihead_documents.xml.events import Event, xml_events

_SHEET = ("spreadsheetml/2006/main", "ooxml/spreadsheetml/main")


class Workbook(OfficeDocument):
    """An Excel workbook. Numbers, dates, formulas with their results, and all names are kept.

    Names of columns, which formulas and pivot tables refer to, must equal the cells that head them. So these
    cells are kept: the first row of a table or of a pivot table's source, and a table's row of totals. A
    string that such a cell shares with others is kept in these too.
    """

    kind = "xlsx"
    program = "Excel"
    copies_of_cells = False
    max_length = 32_767

    def __init__(
        self, path: Path, source_language: str | None = None, target_language: str | None = None
    ) -> None:
        self._titles: dict[str, str] = {}
        """Title of each sheet's part."""
        self._kept: dict[str, CellSet] = {}
        """Cells of each sheet that are kept."""
        self._cells: dict[int, tuple[str, str]] = {}
        """First cell of each shared string that is translated, with its sheet."""
        self._anchors: dict[int, tuple[str, str]] = {}
        """Sheet and cell of each segment that is the text of a cell."""
        self._shared: list[str] = []
        """The part of shared strings, if there is one."""
        self._strings = -1
        """Index of the shared string that is being read."""
        self._sheet = ""
        self._position = Position()
        super().__init__(path, source_language, target_language)

    def _text_parts(self) -> list[str]:
        main = self._main_part(("spreadsheetml", "ms-excel"), "sheets")
        self._titles = {
            part: attributes.get("name", "") for attributes, part in self._list(main, "sheet", "worksheet")
        }
        self._find_kept(main)
        self._find_shared()
        self._shared = self._targets(main, ("sharedStrings",))[:1]
        names = list(self._shared) if self._cells else []
        for sheet in self._titles:
            part = self._archive.read(sheet)
            names += [sheet] if b"inlineStr" in part or b"headerFooter" in part else []
            for drawing in self._targets(sheet, ("drawing",)):
                names += [drawing, *self._targets(drawing, SHOWN)]
        return list(dict.fromkeys(names))

    def _find_kept(self, main: str) -> None:
        """Find the cells that head tables and sources of pivot tables, and rows of totals."""
        sheets = {title: part for part, title in self._titles.items()}
        seen: set[str] = set()  # a table belongs to one sheet; a hostile one to thousands
        for sheet in self._titles:
            self._kept[sheet] = CellSet()
            tables = [part for part in self._targets(sheet, ("table",)) if part not in seen]
            seen.update(tables)
            for part in tables:
                for table in self._attributes(part, "table"):
                    head, totals = table.get("headerRowCount", "1"), table.get("totalsRowCount", "0")
                    self._kept[sheet].add(table.get("ref", ""), int(head != "0"), int(totals != "0"))
        for part in self._targets(main, ("pivotCacheDefinition",)):
            for source in self._attributes(part, "worksheetSource"):
                if source.get("sheet") in sheets:
                    self._kept[sheets[source["sheet"]]].add(source.get("ref", ""), 1)

    def _find_shared(self) -> None:
        """Find the shared strings that cells show and none needs as it is."""
        needed: set[int] = set()
        for sheet, title in self._titles.items():
            position = Position()
            events = xml_events([self._archive.read(sheet)], f"{self.path}:{sheet}")
            for index, formula in shared_cells(events, position):
                if formula or position in self._kept[sheet]:
                    needed.add(index)
                else:
                    self._cells.setdefault(index, (sheet, str(position)))
            if b"<f" in (part := self._archive.read(sheet)):
                events = xml_events([part], f"{self.path}:{sheet}")
                self._note_formulas(title, list(formula_texts(events, Position())))
        for index in needed:
            self._cells.pop(index, None)

    def _note_formulas(self, title: str, cells: list[str]) -> None:
        if cells:
            more = f" and {len(cells) - 1:,} more" if len(cells) > 1 else ""
            place = f"{self.path}:{title}!{cells[0]}{more}"
            self.notes.append((place, "the text in the formula is not translated"))

    def _read(self, name: str) -> None:
        self._sheet, self._position = name, Position()
        super()._read(name)
        if name in self._titles and b"headerFooter" in self._parts[name]:
            self._refuse_other_encodings(self._parts[name])
            place = f"{self.path}:{self._titles[name]}, header or footer"
            for header in header_texts(self._parts[name], place):
                number = len(self.segments)
                self._contents[number] = name, header
                self._add(Segment(number, header.inline.markup.collapsed(), place, max_length=header.room))

    def _edits(self, translations: Mapping[int, Translation]) -> dict[str, list[Edit[bytes]]]:
        """Return the edits; a header that would be too long for Excel stays as it is."""
        headers = {
            n: (part, content)
            for n, (part, content) in self._contents.items()
            if isinstance(content, HeaderText)
        }
        more: Counter[tuple[str, Span]] = Counter()
        for number in headers.keys() & translations.keys():
            part, header = headers[number]
            more[part, header.header] += header.longer(translations[number].target)
        too_long = {
            number
            for number, (part, header) in headers.items()
            if header.length + more[part, header.header] > LONGEST
        }
        return super()._edits({number: new for number, new in translations.items() if number not in too_long})

    def _enter(self, event: Event) -> None:
        super()._enter(event)
        self._position.enter(event)

    def _hides(self, event: Event) -> bool:
        return event.name == "c" and (self._sheet in self._kept and self._position in self._kept[self._sheet])

    def _begin_paragraph(self, event: Event, data: bytes) -> OpenParagraph | None:
        if event.name not in ("si", "is") or not event.space.endswith(_SHEET):
            return super()._begin_paragraph(event, data)
        if event.name == "si":
            self._strings += 1
            if self._strings not in self._cells:
                return None
        self._refuse_other_encodings(data)
        return CellText(event, data)

    def _place(self, name: str, count: int) -> str:
        if name in self._titles:
            return f"{self.path}:{self._titles[name]}!{self._position}"
        if name in self._shared:
            sheet, cell = self._cells[self._strings]
            return f"{self.path}:{self._titles[sheet]}!{cell}"
        return super()._place(name, count)

    def _add_content(self, name: str, content: Content, place: str) -> None:
        sheet, cell = self._cells[self._strings] if name in self._shared else (name, str(self._position))
        if sheet in self._titles and any(position_of(cell)):
            self._anchors[len(self.segments)] = sheet, cell
        super()._add_content(name, content, place)

    def _changes(self, translations: Mapping[int, Translation]) -> dict[str, bytes]:
        changes = super()._changes(translations)
        for sheet, notes in self._notes(translations).items():
            package = PackageChanges(self._archive, changes, self._root_space(sheet))
            shapes = [part for _, part in self._list(sheet, "legacyDrawing", "vmlDrawing")]
            texts = {cell: "\n".join(lines) for cell, lines in notes.items()}
            add_notes(package, sheet, self._targets(sheet, ("comments",)), shapes, texts)
        return changes

    def _notes(self, translations: Mapping[int, Translation]) -> dict[str, dict[str, list[str]]]:
        """Return the comments of translations by sheet and cell.

        What is not the text of a cell, such as a header, is named in the first cell of the first sheet.
        """
        notes: dict[str, dict[str, list[str]]] = {}
        for number, translation in sorted(translations.items()):
            if translation.comment and self._titles:
                sheet, cell = self._anchors.get(number, (next(iter(self._titles)), "A1"))
                place = "" if number in self._anchors else f"{self._inner_place(number)}: "
                notes.setdefault(sheet, {}).setdefault(cell, []).append(place + translation.comment)
        return notes
