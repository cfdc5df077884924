"""A study's space as Python sees it: how it may be written, and which suggest_* returns a parameter as it is."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

CHOICES_SHOWN = 5


def check_written(params: Mapping[str, Any]) -> None:
    """ValueError for a tuple, which might mean the ends of a range or the choices: JSON makes a list of either."""
    for name, values in params.items():
        if isinstance(values, tuple):
            raise ValueError(f"'{name}' is the tuple {values!r}; write {_range_of(values)} for a range, or a list for "
                             "choices")


def check_number(name: str, declared: Mapping[str, Any], value: Any, low: float, high: float) -> None:
    """ValueError when suggest_float() does not fit `declared`, or `value` has more digits than a float."""
    _refuse_choices(name, declared, "suggest_float", f'{{"uniform": [{low}, {high}]}}', (low, high))
    if float(value) != value:
        raise ValueError(f"'{name}' is {value}, which is between two floats; call suggest_int()")


def check_integer(name: str, declared: Mapping[str, Any], value: Any, low: int, high: int) -> None:
    """ValueError when suggest_int() does not fit `declared`, or would cut what it has."""
    remedy = f'{{"range": [{low}, {high}]}}'
    _refuse_choices(name, declared, "suggest_int", remedy, (low, high))
    if not _is_whole(declared):
        raise ValueError(f"'{name}' is declared as {_kind(declared)}, a real number, and is {value!r}, which "
                         f"suggest_int() would cut; write {remedy} in the study's space, or call suggest_float()")


def _kind(declared: Mapping[str, Any]) -> str:
    return declared.get("kind", "choice")


def _refuse_choices(name: str, declared: Mapping[str, Any], called: str, remedy: str, ends: tuple) -> None:
    """Numbers to choose from are no mistake, but the two ends of a range are."""
    if _kind(declared) != "choice":
        return
    values = declared["values"]
    numbers = _numbers(values)
    if numbers and sorted(numbers) != sorted(ends):
        return
    shown = ", ".join([*values[:CHOICES_SHOWN], *(["..."] if values[CHOICES_SHOWN:] else [])])
    raise ValueError(f"'{name}' is declared as choice, one of [{shown}], and {called}() is for numbers of a range; "
                     f"call suggest_categorical(), or write {remedy} in the study's space")


def _numbers(choices: Sequence[str]) -> list[float]:
    """Empty where one of them is none."""
    try:
        return [float(each) for each in choices]
    except ValueError:
        return []


def _is_whole(declared: Mapping[str, Any]) -> bool:
    """Whether each value that it can have is an integer; {"uniform": [0, 10], "step": 2} has no others."""
    if _kind(declared) == "choice":
        return all(each.is_integer() for each in _numbers(declared["values"]))
    if _kind(declared) == "range":
        return True
    return "step" in declared and all(float(declared[each]).is_integer() for each in ("low", "step"))


def _range_of(values: tuple) -> str:
    numbers = len(values) == 2 and all(isinstance(each, int | float) for each in values)
    return f'{{"uniform": {json.dumps(values) if numbers else "[low, high]"}}}'
