#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Breaks each rule of src/predict, one at a time, and asks whether the kernels of test-rules.c or the random ones notice: a rule that
can be broken unseen is not tested. Each mutant replaces one text of one file; a text that is not there any more is a fault of this list."""

import os
import pathlib
import subprocess
import sys
import tempfile

BUILD, SOURCE = (pathlib.Path(os.environ[name]) for name in ("SLUICE_BUILD", "SLUICE_SOURCE"))
PREDICT = SOURCE / "src/predict"
KERNELS = os.environ.get("SLUICE_MUTANT_KERNELS", "12000")
TESTS = ["test-rules", "test-generate"]
LIBRARIES = ["src/predict/libpredict.a", "devices/softgpu/interp/libinterp.a", "devices/softgpu/interp/libinterp-base.a",
             "devices/softgpu/interp/libinterp-v3.a", "src/ptx/libptx.a", "src/base/libbase.a"]

# rule, file, what stands there, what stands there in the mutant
MUTANTS = [
    ("wrap-around is noticed", "value.c", "	if (turns != floor_shift(above, type.bits) ||\n", "	if ("),
    ("a sum adds both intervals", "sum.c", "__builtin_add_overflow(a->hi, b->hi, &r->hi)", "__builtin_add_overflow(a->hi, b->lo, &r->hi)"),
    ("a join has both intervals", "value.c", "	hi = SLU_MAX(a->hi, b->hi);\n	g = gcd", "	hi = a->hi;\n	g = gcd"),
    ("a join keeps a step only if both have it", "value.c", "		g = gcd(g, distance);", "		(void)distance;"),
    ("a product has four corners", "value.c", "	hi = SLU_MAX(hi, y);", ""),
    ("a remainder is any number below the divisor", "divide.c", ".last = (uint64_t)d - 1 }", ".last = (uint64_t)d / 2 }"),
    ("a modulo with a turn has all rests", "divide.c", "	return slu_predict_value_span(s, base, d - 1, g);",
     "	return slu_predict_value_span(s, base, d / 2, g);"),
    ("a quotient counts to its highest number", "divide.c", ".last = (uint64_t)last - (uint64_t)first,", ".last = 1,"),
    ("a mask of low bits is a modulo", "bits.c", "return slu_predict_divide_modulo(s, a, (int64_t)m + 1);",
     "return slu_predict_divide_modulo(s, a, ((int64_t)m + 1) / 2 + 1);"),
    ("or fills all bits below the highest", "bits.c", "fill(SLU_MAX(x.hi, y.hi))", "SLU_MAX(x.hi, y.hi)"),
    ("or is a sum only without common bits", "bits.c", "	return !(low & (uint64_t)fill(b->hi));", "	return low != 0;"),
    ("less than excludes one number", "relation.c", "hi = SLU_MIN(hi, less_one(y->hi));", "hi = SLU_MIN(hi, less_one(less_one(y->hi)));"),
    ("a bound is the worst that it can be", "relation.c", "		hi = SLU_MIN(hi, y->hi);\n		break;\n	case SLU_PREDICT_GT",
     "		hi = SLU_MIN(hi, y->lo);\n		break;\n	case SLU_PREDICT_GT"),
    ("greater than excludes one number", "relation.c", "lo = SLU_MAX(lo, plus_one(y->lo));", "lo = SLU_MAX(lo, plus_one(plus_one(y->lo)));"),
    ("a loop's turns end after its last test", "relation.c", "(most - 1) / size + 1, 1)", "(most - 1) / size, 1)"),
    ("a test that no thread reaches allows a first turn", "relation.c", "		return slu_predict_value_one(0);\n	/* a step",
     "		return *y;\n	/* a step"),
    ("a loop that may wrap around has no bound", "relation.c", "	if (!slu_predict_value_fits(&end, type))\n		return slu_predict_value_any(s);\n", ""),
    ("`!=` ends a loop only at a multiple of its step", "relation.c", "!is_bound_fixed || !counts_down(d, size)", "d->state != SLU_PREDICT_SET || d->hi < 0"),
    ("the inverse of a comparison", "guard.c", "[SLU_PREDICT_LT] = SLU_PREDICT_GE, [SLU_PREDICT_GE] = SLU_PREDICT_LT,",
     "[SLU_PREDICT_LT] = SLU_PREDICT_GT, [SLU_PREDICT_GE] = SLU_PREDICT_LT,"),
    ("a comparison from its other side", "guard.c", "[SLU_PREDICT_LE] = SLU_PREDICT_GE, [SLU_PREDICT_GE] = SLU_PREDICT_LE,",
     "[SLU_PREDICT_LE] = SLU_PREDICT_LE, [SLU_PREDICT_GE] = SLU_PREDICT_GE,"),
    ("an `or` that holds says nothing of its parts", "guard.c", "is_true != (in->form->opcode == SLU_PTX_OP_and)", "false"),
    ("of a guarded predicate nothing is known", "guard.c", "	if (in->guard != SLU_PTX_NO_REG)\n		return facts;\n	switch", "	switch"),
    ("an edge's facts hold behind that edge alone", "guard.c", "b->n_in == 1\n", "b->n_in <= 2\n"),
    ("a guarded result may be the old value", "translate.c", "	if (p->in->guard == SLU_PTX_NO_REG)\n		return translate_result(p);",
     "	if (true)\n		return translate_result(p);"),
    ("a choice has both values", "translate.c", "slu_predict_translate_join(p->an, p->node, source(&yes, 1), source(&no, 2));", "source(&yes, 1);"),
    ("two choices are two values", "translate.c", "							   .imm = name_of(&node, 0),\n							   .a = a,",
     "							   .a = a,"),
    ("two loops are in turns of their own", "loop.c", "			.imm = loop,\n", ""),
    ("a merge has the values of all edges", "translate.c", "op = i ? slu_predict_translate_join(an, node, op, one) : one;", "op = i ? op : one;"),
    ("a wide product takes the number's sign", "translate.c", "r = two(p, SLU_PREDICT_CODE_MUL, source_norm(p, 1), source_norm(p, 2));",
     "r = two(p, SLU_PREDICT_CODE_MUL, source(p, 1), source(p, 2));"),
    ("a conversion takes the number's sign", "translate.c", "	if (from.bits < to.bits)\n		r = norm(p->an, r, from);\n", ""),
    ("what was loaded is anything", "evaluate.c", "		return slu_predict_value_full(s, op->type);", "		return slu_predict_value_one(7);"),
    ("a step or bound that changes in the loop is not fixed", "loop.c", "	if (!slu_predict_flow_is_in(&an->flow, an->flow.block_of[node.a], loop))\n		return true;",
     "	if (node.kind)\n		return true;"),
    ("a counter goes on alike over all edges", "loop.c", "(next.kind != SLU_PREDICT_NODE_NONE && !slu_predict_node_is(&n, &next))", "false"),
    ("a turn that passed one of several tests may be the last", "loop.c", "	if (an->turns[loop].n_tests != 1)\n		return false;\n", ""),
    ("a test counts only if every turn makes it", "loop.c", "		    !slu_predict_flow_dominates(&an->flow, e->from, from))\n			return SLU_PREDICT_NO_LOOP;",
     "		    false)\n			return SLU_PREDICT_NO_LOOP;"),
    ("a bounded counter has its first value too", "evaluate.c", "		lo = SLU_MIN(first->lo, next->lo);\n		hi = SLU_MAX(first->hi, next->hi);",
     "		lo = next->lo;\n		hi = next->hi;"),
    ("an access has all its bytes", "access.c", "in->form->types[0]) * in->form->vector,", "in->form->types[0]),"),
    ("a function that touches memory is not followed", "access.c", "		if (effect != EFFECT_NONE &&\n", "		if (false &&\n"),
    ("an atomic writes", "access.c", "return plain(in, 1, true, true);", "return plain(in, 1, true, false);"),
    ("an op is computed again if a leaf behind any operand changed", "program.c", "op->needs = ops[op->a].needs | ops[op->b].needs | ops[op->c].needs;",
     "op->needs = ops[op->a].needs | ops[op->b].needs;"),
    ("a size that changed is noticed", "evaluate.c", "(a->lo == b->lo && a->hi == b->hi)", "a->lo == b->lo"),
    ("a sum with a number moves the whole form", "sum.c", "	for (unsigned i = 0; i < a->n_terms; i++)\n		r->terms[i] = a->terms[i];\n	return true;\n}\n\n/* a + b * k;",
     "	for (unsigned i = 0; i < a->n_terms; i++)\n		r->terms[i] = a->terms[0];\n	return true;\n}\n\n/* a + b * k;"),
    ("a number takes its type's sign", "number.c", "	*ret = type.is_signed ? (int64_t)", "	*ret = !type.is_signed ? (int64_t)"),
    ("terms of one dim are added", "sum.c", "		ta += is_met;", "		ta++;"),
    ("pieces side by side are one, with all of them", "range.c", "r->bytes += stride * last;", "r->bytes += stride * (last - 1);"),
    ("a level repeats once more than its last", "range.c", "r->levels[n].count = last + 1;", "r->levels[n].count = last;"),
]


def run(words, **more):
    return subprocess.run([str(w) for w in words], capture_output=True, text=True, **more)


def compile(folder, path, name):
    words = ["cc", "-O1", "-g", "-std=gnu11", "-D_GNU_SOURCE", "-fno-strict-aliasing", "-w", "-c", path, "-o", folder / name]
    done = run(words + [f"-I{SOURCE / sub}" for sub in ("src", "devices", "test")])
    if done.returncode:
        raise SystemExit(done.stderr)


def is_caught(folder, file, text):
    """Whether a test fails that passes without the change."""
    (folder / file).write_text(text)
    compile(folder, folder / file, "mutant.o")
    for test in TESTS:
        done = run(["cc", folder / "mutant.o", folder / f"{test}.o", *(BUILD / name for name in LIBRARIES), "-lcmocka", "-lpthread", "-lm",
                    "-o", folder / "test"])
        if done.returncode:
            raise SystemExit(done.stderr)
        try:
            done = run([folder / "test"], env=os.environ | {"SLUICE_GENERATE": KERNELS}, timeout=600)
        except subprocess.TimeoutExpired:
            return False
        if done.returncode != 0 and "missed " in done.stderr:
            return True
    return False


def main():
    wanted = sys.argv[1:]
    mutants = [m for m in MUTANTS if not wanted or any(w in m[0] for w in wanted)]
    print(f"1..{len(mutants)}", flush=True)
    n_unseen = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for test in TESTS:
            compile(folder, PREDICT / f"{test}.c", f"{test}.o")
        for i, (rule, file, old, new) in enumerate(mutants, 1):
            text = (PREDICT / file).read_text()
            if text.count(old) != 1:
                print(f"not ok {i} - {rule}: the text is there {text.count(old)} times", flush=True)
                n_unseen += 1
                continue
            ok = is_caught(folder, file, text.replace(old, new))
            n_unseen += not ok
            print(f"{'ok' if ok else 'not ok'} {i} - {rule}", flush=True)
    return n_unseen > 0


sys.exit(main())
