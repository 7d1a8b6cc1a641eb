"""Notes on cells of an Excel workbook (ECMA-376, part 1, sec. 18.7, and their shapes, part 4, sec. 8)."""

import re
from collections.abc import Mapping, Sequence
from functools import partial

from multihead_documents.office.package_changes import AUTHOR, DECLARATION, PackageChanges, last_child
from multihead_documents.office.xlsx_cells import cell_text, position_of
from multihead_documents.splice import Edit, Span, splice
from multihead_documents.xml.document import prefix_of, with_attributes
from multihead_documents.xml.events import Event, xml_events

LONGEST = 32_000
"""Characters of a note; Excel allows 32,767."""
_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml.comments+xml"
_SHAPES_TYPE = "application/vnd.openxmlformats-officedocument.vmlDrawing"
_SPACES = {
    "xmlns:v": "urn:schemas-microsoft-com:vml",
    "xmlns:o": "urn:schemas-microsoft-com:office:office",
    "xmlns:x": "urn:schemas-microsoft-com:office:excel",
}
_ROOT = re.compile(rb"<xml\b[^>]*>")
_SHAPE_TYPE = """<v:shapetype{spaces} id="_x0000_t202" coordsize="21600,21600" o:spt="202" \
path="m,l,21600r21600,l21600,xe"><v:stroke joinstyle="miter"/>\
<v:path gradientshapeok="t" o:connecttype="rect"/></v:shapetype>
"""
_SHAPE = """<v:shape{spaces} id="_x0000_s{id}" type="#_x0000_t202" \
style="position:absolute;visibility:hidden" fillcolor="#ffffe1" o:insetmode="auto"><v:fill color2="#ffffe1"/>\
<v:path o:connecttype="none"/><v:textbox/><x:ClientData ObjectType="Note">\
<x:MoveWithCells/><x:SizeWithCells/>\
<x:Anchor>{left}, 15, {row}, 2, {right}, 15, {bottom}, 4</x:Anchor><x:AutoFill>False</x:AutoFill>\
<x:Row>{row}</x:Row><x:Column>{column}</x:Column></x:ClientData></v:shape>
"""
_AFTER_SHAPES = frozenset(
    (
        *("legacyDrawingHF", "drawingHF", "picture", "oleObjects", "controls", "AlternateContent"),
        *("webPublishItems", "tableParts", "extLst"),
    )
)
"""Elements of a sheet that follow the one of its shapes."""


def add_notes(
    package: PackageChanges,
    sheet: str,
    existing: Sequence[str],
    shapes: Sequence[str],
    notes: Mapping[str, str],
) -> None:
    """Add notes to the cells of a sheet; a cell that has one gets further lines in it.

    Args:
        package: the workbook.
        sheet: the sheet.
        existing: its part of notes, if there is one.
        shapes: its part of their shapes, if there is one.
        notes: text by cell, such as ``B3``.

    Raises:
        DocumentError: an existing part cannot be extended.
    """
    if existing:
        new = _extend(package, existing[0], notes)
    else:
        new = notes
        content = f'<comments xmlns="{package.space}"><authors><author>{AUTHOR}</author></authors>'
        content += f"<commentList>{_notes(notes, 0, '')}</commentList></comments>"
        package.add(sheet, "comments", "xl/comments{}.xml", _TYPE, DECLARATION + content.encode())
    if shapes:
        package.changes[shapes[0]] = _with_shapes(package, shapes[0], package.read(shapes[0]), [*new])
    else:
        root = with_attributes("<xml>", _SPACES)
        drawing = _with_shapes(package, sheet, f"{root}</xml>".encode(), [*new])
        id = package.add(sheet, "vmlDrawing", "xl/drawings/notes{}.vml", _SHAPES_TYPE, drawing)
        _refer_to_shapes(package, sheet, id)


def _notes(notes: Mapping[str, str], author: int, x: str) -> str:
    return "".join(
        f'<{x}comment ref="{cell}" authorId="{author}"><{x}text>{_run(text, x)}</{x}text></{x}comment>'
        for cell, text in notes.items()
    )


def _run(text: str, x: str) -> str:
    return f'<{x}r><{x}t xml:space="preserve">{cell_text(text[:LONGEST]).decode()}</{x}t></{x}r>'


def _extend(package: PackageChanges, part: str, notes: Mapping[str, str]) -> Mapping[str, str]:
    """Add notes to a part that has some; return those on cells that had none."""
    edits: list[Edit[bytes]] = []
    new = dict(notes)
    authors = 0
    cell = ""
    extended: tuple[Event, str] | None = None
    """The open text of a cell's note, and what is added to it."""
    for event in xml_events([package.read(part)], part):
        if event.kind == "start" and event.name == "author":
            authors += 1
        elif event.kind == "start" and event.name == "comment":
            cell = event.attributes.get("ref", "")
        elif event.kind == "start" and event.name == "text" and cell in new:
            extended = event, new.pop(cell)
        elif extended and event.kind == "end" and event.name == "text":
            start, note = extended
            run = _run(f"\n{AUTHOR}: {note}", prefix_of(start.raw.decode()))
            edits.append(last_child(start, event, run.encode()))
            extended = None
    package.changes[part] = splice(package.read(part), edits)
    if new:
        package.append(part, "authors", lambda x: f"<{x}author>{AUTHOR}</{x}author>")
        package.append(part, "commentList", partial(_notes, new, authors))
    return new


def _with_shapes(package: PackageChanges, part: str, data: bytes, cells: Sequence[str]) -> bytes:
    """Return a drawing with a shape for the note on each cell. Excel does not write it as well-formed XML."""
    end, root = data.rfind(b"</xml>"), _ROOT.search(data)
    if end < 0 or not root:
        raise package.error(part, "no shapes of notes that can be extended")
    spaces = "".join(f' {name}="{space}"' for name, space in _SPACES.items() if name.encode() not in root[0])
    id = max([1024, *(int(number) for number in re.findall(rb"_x0000_s([0-9]{1,9})\b", data))])
    shapes = "" if b"_x0000_t202" in data else _SHAPE_TYPE.format(spaces=spaces)
    for number, (column, row) in enumerate(map(position_of, cells), start=id + 1):
        shapes += _SHAPE.format(
            spaces=spaces,
            id=number,
            row=row - 1,
            column=column - 1,
            left=column,
            right=column + 2,
            bottom=row + 3,
        )
    return data[:end] + shapes.encode() + data[end:]


def _refer_to_shapes(package: PackageChanges, sheet: str, id: str) -> None:
    """Name the shapes of its notes in a sheet, at the place that the schema demands."""
    depth = 0
    prefix = ""
    for event in xml_events([data := package.read(sheet)], sheet):
        place = event.span.start
        if event.kind == "start":
            prefix = prefix if depth else prefix_of(event.raw.decode())
            if depth == 1 and event.name in _AFTER_SHAPES:
                break
            depth += 1
        depth -= event.kind == "end"
        if not depth and event.kind == "end":
            break
    element = f'<{prefix}legacyDrawing xmlns:r="{package.relationships}" r:id="{id}"/>'
    package.changes[sheet] = splice(data, [Edit(Span(place, place), [element.encode()])])
