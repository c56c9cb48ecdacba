"""Checks that a file is PowerShell without errors of syntax: powershell.py FILE…"""

import sys

import tree_sitter
import tree_sitter_powershell


def faults(node):
    if node.is_error or node.is_missing:
        yield node
    for child in node.children:
        yield from faults(child)


parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_powershell.language()))
found = []
for path in sys.argv[1:]:
    tree = parser.parse(open(path, "rb").read())
    found += [f"{path}:{node.start_point[0] + 1}: {node.text.decode()[:80]!r}" for node in faults(tree.root_node)]
if found:
    sys.exit("\n".join(found))
