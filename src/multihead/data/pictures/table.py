"""A line of a CSV file."""

import csv

from multihead.errors import UserError


def cells(line: str, delimiter: str, place: str) -> list[str]:
    """Return what stands in the columns of a line, none in an empty one.

    Raises:
        UserError: no line of a CSV file: a carriage return in it, a cell of more than 131,072 characters.
    """
    try:
        return next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error as error:
        fact = f"no line of a table ({str(error).partition(' - ')[0]})"
        raise UserError(fact, place=place, remedy="Save the table again, as CSV in UTF-8.") from None
