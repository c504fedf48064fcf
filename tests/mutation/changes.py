"""Change a module to make mutants of it."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from typing import Any, NamedTuple

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
EXTREMES = {"min": "max", "max": "min"}


class Mutant(NamedTuple):
    line: int
    function: str
    old: str
    new: str
    tree: ast.Module

    def __str__(self) -> str:
        return f"{self.function}: {self.old} -> {self.new}"


def changes_of(node: ast.AST) -> Iterator[tuple[str, Any]]:
    """Fields of a node, and what to put in them to change it."""
    if isinstance(node, ast.Compare):
        for at, comparison in enumerate(node.ops):
            yield "ops", [*node.ops[:at], COMPARISONS[type(comparison)](), *node.ops[at + 1 :]]
    elif isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in OPERATORS:
        yield "op", OPERATORS[type(node.op)]()
    elif isinstance(node, ast.BoolOp):
        yield "op", ast.Or() if isinstance(node.op, ast.And) else ast.And()
    elif isinstance(node, ast.If | ast.While | ast.IfExp):
        yield "test", ast.Constant(False)
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
        yield "value", node.value + 1
    elif isinstance(node, ast.Constant) and type(node.value) is bool:
        yield "value", not node.value
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield "operand", ast.UnaryOp(ast.Not(), node.operand)
    elif (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in EXTREMES
    ):
        yield "func", ast.Name(EXTREMES[node.func.id], ast.Load())


def text_of(node: ast.AST) -> str:
    """Return a node as text; of a statement with a body, its first line."""
    return ast.unparse(node).partition("\n")[0]


def mutants_of(source: str) -> list[Mutant]:
    """Return all changes to the bodies of functions.

    Types, docstrings and tables of constants stay unchanged. A constant is shown with the
    expression that it is part of: by itself it says too little.
    """
    tree = ast.parse(source)
    nodes = list(ast.walk(tree))
    parents = {id(child): node for node in nodes for child in ast.iter_child_nodes(node)}
    function_of = {
        id(node): function.name
        for function in nodes
        if isinstance(function, ast.FunctionDef)
        for statement in function.body
        for node in ast.walk(statement)
    }
    mutants = []
    for number, node in enumerate(nodes):
        if id(node) not in function_of:
            continue
        shown = number
        if isinstance(node, ast.Constant):
            while not isinstance(nodes[shown], ast.stmt) and len(text_of(nodes[shown])) < 12:
                shown = nodes.index(parents[id(nodes[shown])])
        for field, value in changes_of(node):
            new = copy.deepcopy(tree)
            new_nodes = list(ast.walk(new))
            setattr(new_nodes[number], field, value)
            ast.fix_missing_locations(new)
            texts = text_of(nodes[shown]), text_of(new_nodes[shown])
            mutants.append(Mutant(node.lineno, function_of[id(node)], *texts, new))
    return mutants
