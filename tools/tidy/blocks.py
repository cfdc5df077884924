"""Finds functions and lambdas by their braces: enough of a parser for code that clang-format laid out."""

import re
from dataclasses import dataclass

from .source import Source

# What may stand between the parameters of a function and its body.
_SPECIFIERS = re.compile(
    r"\)\s*(?:(?:const|noexcept|override|final|mutable|try|&&?|requires\b.*|->.*)\s*)*$", re.DOTALL
)
_SCOPE = re.compile(r"\b(?:namespace|class|struct|union|enum)\b|\bextern\s*\"")
_CONTROL = re.compile(r"^\s*(?:if|for|while|switch|do|else|try|catch|return|co_return|case|default)\b")
_LAMBDA = re.compile(r"(?<![\w)\]>\"])\s*\[(?!\[)(?P<capture>[^\[\]]*)\](?!\])")
_COROUTINE = re.compile(r"\bco_(?:await|return|yield)\b")
_BRACES = re.compile(r"[{}]")


@dataclass(frozen=True)
class Block:
    """`head` is where the signature starts; body_start and body_end are the braces."""

    head: int
    body_start: int
    body_end: int
    signature: str


def matching(text: str, start: int, opening: str, closing: str) -> int:
    """The offset of the bracket that closes the one at `start`, or the end of the text."""
    depth = 0
    for match in re.compile(f"[{re.escape(opening + closing)}]").finditer(text, start):
        depth += 1 if match.group() == opening else -1
        if depth == 0:
            return match.start()
    return len(text) - 1


def _after_initialisers(head: str) -> bool:
    """Whether the brace after `head` is a member initialiser: `: size_(0), name_` and not a body."""
    depth = 0
    colon = -1
    for index, character in enumerate(head):
        depth += (character in "(<[") - (character in ")>]")
        if character == ":" and depth == 0 and head[index - 1] != ":" and head[index + 1 :][:1] != ":":
            colon = index
    if colon < 0 or ")" not in head[:colon]:
        return False
    return bool(re.search(r"[\w>]\s*$", head))


def _is_function_head(head: str) -> bool:
    if _after_initialisers(head) or "(" not in head:
        return False
    if re.search(r"\)\s*:[^:]", head):  # A constructor whose last initialiser ends with ) or }.
        return bool(re.search(r"[)}]\s*$", head))
    return bool(_SPECIFIERS.search(head)) and not re.search(r"=\s*$", head)


def functions(source: Source) -> list[Block]:
    """Functions with a body, at namespace or class level; a lambda belongs to the function around it."""
    text = source.statements
    found: list[Block] = []
    _scan(text, 0, len(text), found)
    return found


def _scan(text: str, start: int, end: int, found: list[Block]) -> None:
    head_start = start
    at = start
    while at < end:
        match = re.compile(r"[{};()]|\b(?:public|private|protected)\s*:").search(text, at, end)
        if match is None:
            return
        token = match.group()
        at = match.end()
        if token == "(":
            at = matching(text, match.start(), "(", ")") + 1
        elif token in (";", "}") or token.endswith(":"):
            head_start = at
        elif token == "{":
            close = matching(text, match.start(), "{", "}")
            kind = _classify(text[head_start : match.start()])
            if kind == "scope":
                _scan(text, match.end(), close, found)
                head_start = close + 1
            elif kind == "function":
                first = head_start + len(text[head_start:]) - len(text[head_start:].lstrip())
                found.append(Block(first, match.start(), close, text[first : match.start()].strip()))
                head_start = close + 1
            at = close + 1


def _classify(head: str) -> str:
    flat = re.sub(r"\btemplate\s*<[^{;]*?>\s*(?=\w)", "", head.strip())
    if _is_function_head(flat) and not re.match(r"(?:inline\s+)?namespace\b|enum\b", flat):
        return "function"
    if _SCOPE.search(flat) and not re.search(r"=\s*$", flat):
        return "scope"
    return "initialiser"


@dataclass(frozen=True)
class Lambda:
    start: int
    capture: str
    body_start: int
    body_end: int


def lambdas(text: str) -> list[Lambda]:
    """Every lambda of the text, outer ones first."""
    found = []
    for match in _LAMBDA.finditer(text):
        body = _lambda_body(text, match.end())
        if body is not None:
            start = text.index("[", match.start())
            found.append(Lambda(start, match["capture"].strip(), body, matching(text, body, "{", "}")))
    return found


def _lambda_body(text: str, at: int) -> int | None:
    """The offset of the `{` that opens the body of a lambda whose capture ends at `at`."""
    rest = re.compile(r"\s*").match(text, at).end()
    if text[rest : rest + 1] == "<":
        rest = matching(text, rest, "<", ">") + 1
        rest = re.compile(r"\s*").match(text, rest).end()
    if text[rest : rest + 1] == "(":
        rest = matching(text, rest, "(", ")") + 1
    match = re.compile(r"\s*(?:(?:mutable|noexcept|constexpr|static)\s*)*(?:->[^{;]*)?\{").match(text, rest)
    return match.end() - 1 if match else None


def own_body(text: str, block: Lambda, inner: list[Lambda]) -> str:
    """The body of a lambda without the bodies of the lambdas inside it."""
    body = text[block.body_start : block.body_end]
    for other in inner:
        if block.body_start < other.body_start and other.body_end < block.body_end:
            first = other.body_start - block.body_start
            last = other.body_end - block.body_start
            body = body[:first] + re.sub(r"[^\n]", " ", body[first:last]) + body[last:]
    return body


def is_coroutine(body: str) -> bool:
    return bool(_COROUTINE.search(body))


def enclosing_block_end(text: str, at: int) -> int:
    """Where the block around `at` ends."""
    depth = 0
    for match in _BRACES.finditer(text, at):
        depth += 1 if match.group() == "{" else -1
        if depth < 0:
            return match.start()
    return len(text)
