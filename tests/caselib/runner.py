"""Judges the rows of a case against the program's answers, and prints what came of it."""

from .judge import fail, judge


def judge_case(case, keymap, ask_about):
    """[(row, Result or None when skipped, why, command)]. `ask_about(span)` gives the Answer about a span; it is called once for each."""
    answers, results = {}, []
    verdicts = {row.value for row in case.rows if row.op == "verdict"}
    for row in case.rows:
        why = keymap.skipped(row)
        if why:
            results.append((row, None, why, []))
            continue
        if row.span not in answers:
            answers[row.span] = ask_about(row.span)
        answer = answers[row.span]
        result = judge(row, answer.document, keymap, verdicts) if answer.document else fail(answer.tell())
        results.append((row, result, "", answer.command))
    return results


class Counts:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def __str__(self):
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"

    def print_results(self, results, verbose):
        for row, result, why, command in results:
            expected = f"{row.op} {row.value}".rstrip()
            if result is None:
                self.skipped += 1
                print(f"SKIP {row.case} {row.key}: {why}")
            elif result.passed:
                self.passed += 1
                if verbose:
                    print(f"ok   {row.case} {row.key}: {expected}; got {result.got}")
            else:
                self.failed += 1
                print(f"FAIL {row.case} {row.key}: expected {expected}; got {result.got}")
                if verbose:
                    print("     " + " ".join(command))
