"""Formulas of studies: arithmetic on letters, parsed and evaluated without eval()."""
import ast
import math
import operator

OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
             ast.Div: operator.truediv, ast.FloorDiv: operator.floordiv, ast.Pow: operator.pow}
FUNCTIONS = {"ceil": math.ceil, "floor": math.floor, "sqrt": math.sqrt, "lg": math.log2,
             "ln": math.log, "min": min, "max": max, "abs": abs}


class FormulaError(ValueError):
    """A formula that cannot be parsed or evaluated; the message names the part."""


class Formula:
    """Arithmetic of numbers, letters, + - * / // ^, and ceil floor sqrt lg ln min max abs."""

    def __init__(self, text):
        self.text = str(text)
        try:
            self.tree = ast.parse(self.text.replace("^", "**"), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise FormulaError(f"'{self.text}' is not a formula") from None
        self.letters = list(dict.fromkeys(self.check(self.tree)))

    def check(self, node):
        """Yields the letters below a node. Raises FormulaError for anything but arithmetic."""
        if isinstance(node, ast.Constant) and type(node.value) in (int, float):
            return
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
            yield from self.check(node.left)
            yield from self.check(node.right)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            yield from self.check(node.operand)
        elif isinstance(node, ast.Call) and not node.keywords and isinstance(node.func, ast.Name) \
                and node.func.id in FUNCTIONS:
            for argument in node.args:
                yield from self.check(argument)
        else:
            raise FormulaError(f"'{self.text}' is not arithmetic: {ast.unparse(node)}; use "
                               f"numbers, letters, + - * / // ^ and {' '.join(FUNCTIONS)}")

    def value(self, letters):
        """Returns the number for the letters {name: number}. Raises FormulaError for unknown
        letters, texts and undefined operations."""
        try:
            return float(self.of(self.tree, letters))
        except (ArithmeticError, ValueError, TypeError) as error:
            if isinstance(error, FormulaError):
                raise
            raise FormulaError(f"'{self.text}' has no value ({error})") from None

    def of(self, node, letters):
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name):
            if node.id not in letters:
                raise FormulaError(f"'{self.text}': no column or letter '{node.id}'")
            found = letters[node.id]
            if isinstance(found, str):
                raise FormulaError(f"'{self.text}': '{node.id}' is the text '{found}'")
            return float(found)
        if isinstance(node, ast.UnaryOp):
            return -self.of(node.operand, letters)
        if isinstance(node, ast.Call):
            return FUNCTIONS[node.func.id](*(self.of(one, letters) for one in node.args))
        return OPERATORS[type(node.op)](self.of(node.left, letters), self.of(node.right, letters))
