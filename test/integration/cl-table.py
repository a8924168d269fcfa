#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cl-table.py CALLS.DEF: every call in the loader's table that takes or returns a cl_mem is in the
layer's table: the program's objects are proxies, which no driver knows.
"""

import re
import sys

HEADER = "/usr/include/CL/cl_icd.h"
ON_WINDOWS = re.compile(r"D3D1[01]|DX9")


def main():
    text = open(HEADER, encoding="utf-8").read()
    taken = set(re.findall(r"^SLU_CALL\((\w+),", open(sys.argv[1], encoding="utf-8").read(), re.M))
    table = text[text.index("typedef struct _cl_icd_dispatch {"):]
    slots = set(re.findall(r"cl_api_(\w+)\s+\w+;", table[:table.index("} cl_icd_dispatch")]))
    slots = {s for s in slots if not ON_WINDOWS.search(s)}
    lacking = []
    for match in re.finditer(r"typedef\s+([\w\s*]+?)\(\s*CL_API_CALL\s*\*\s*cl_api_(\w+)\)\((.*?)\)\s*"
                             r"(?:CL_\w+\s*)?;", text, re.S):
        gives, name, parameters = match.groups()
        objects = re.search(r"\bcl_mem\b|\bcl_image_desc\b", gives + parameters)
        if name in slots and objects and name not in taken:
            lacking.append(name)
    print("1..2")
    print(f"{'not ok' if lacking else 'ok'} 1 - calls with objects are all taken {lacking or ''}")
    unknown = sorted(taken - slots)
    print(f"{'not ok' if unknown else 'ok'} 2 - the table has no call that the loader has not {unknown or ''}")
    sys.exit(1 if lacking or unknown or len(slots) < 100 else 0)


main()
