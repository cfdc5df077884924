"""The coroutine law, as far as text shows it; clang-tidy checks the rest."""

import re
from collections.abc import Iterable

from . import blocks
from .repository import Repository
from .source import Source, Violation

_LOCK = re.compile(
    r"\b(?:std::)?(?:lock_guard|scoped_lock|unique_lock|shared_lock|MutexLock)\b\s*(?:<[^;{}]*?>)?\s+\w+\s*[({]"
)
_DETACH = re.compile(r"\b(?:spawn|spawn_detached|detach|co_spawn|start_detached)\s*\(")
_ASYNC_DECLARATION = re.compile(r"\bAsync<")


def check_capturing_lambdas(repository: Repository) -> Iterable[Violation]:
    for source in repository.sources:
        text = source.statements
        if "co_" not in text:
            continue
        found = blocks.lambdas(text)
        for block in found:
            if block.capture and blocks.is_coroutine(blocks.own_body(text, block, found)):
                yield source.violation(
                    block.start, "coroutine-lambda",
                    f"[{block.capture}] is captured by a coroutine: the captures die with the lambda object, "
                    "before the frame does. Pass the state as parameters, by value.")


def check_locks(repository: Repository) -> Iterable[Violation]:
    for source in repository.sources:
        text = source.statements
        if "co_await" not in text:
            continue
        for match in _LOCK.finditer(text):
            end = blocks.enclosing_block_end(text, match.end())
            if "co_await" in text[match.end() : end]:
                yield source.violation(match.start(), "coroutine-lock",
                                       "this lock is held across co_await: close its block first")


def _parameters_borrow(parameters: str) -> bool:
    flat = re.sub(r"&&", "", parameters)
    return bool(re.search(r"&|\*|\bstring_view\b|\bspan\s*<", flat))


def borrowing_coroutines(source: Source) -> dict[str, str]:
    """Names of functions that return Async<T> and take a reference, pointer or view."""
    found = {}
    text = source.statements
    for match in _ASYNC_DECLARATION.finditer(text):
        close = blocks.matching(text, match.end() - 1, "<", ">")
        name = re.compile(r"\s+(?:\w+::)*(\w+)\s*\(").match(text, close + 1)
        if name:
            end = blocks.matching(text, name.end() - 1, "(", ")")
            parameters = text[name.end() : end]
            if _parameters_borrow(parameters):
                found[name[1]] = " ".join(parameters.split())
    return found


def check_detached(repository: Repository) -> Iterable[Violation]:
    borrowing: dict[str, dict[str, str]] = {}
    for source in repository.sources:
        borrowing.setdefault(source.module, {}).update(borrowing_coroutines(source))
    for source in repository.sources:
        if source.is_test or source.module == "async":
            continue  # Tests wait for what they spawned, and so do async's own race() and when_all().
        text = source.statements
        for match in _DETACH.finditer(text):
            end = blocks.matching(text, match.end() - 1, "(", ")")
            for call in re.finditer(r"\b(\w+)\s*\(", text[match.end() : end]):
                parameters = borrowing[source.module].get(call[1])
                if parameters is not None:
                    yield source.violation(
                        match.end() + call.start(), "coroutine-detached",
                        f"{call[1]}({parameters}) borrows, but detached work outlives its caller: "
                        "take the parameters by value, or await the call")


CHECKS = (check_capturing_lambdas, check_locks, check_detached)
