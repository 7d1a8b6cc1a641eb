"""Parser for a line of a CSV file."""

import csv

from multihead.errors import UserError


def cells(line: str, delimiter: str, place: str) -> list[str]:
    """Return the cells of a line; an empty line has none.

    Raises:
        UserError: not a line of CSV: it has a carriage return, or a cell of more than 131,072 characters.
    """
    try:
        return next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error as error:
        fact = f"not a line of CSV ({str(error).partition(' - ')[0]})"
        raise UserError(fact, place=place, remedy="Save the table again, as CSV in UTF-8.") from None
