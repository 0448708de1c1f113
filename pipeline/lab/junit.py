"""A run as JUnit XML, for CI services: pure."""

import re
from xml.etree import ElementTree as ET

from pipeline.lab.run import Check, Comparison, Run
from pipeline.lab.tell import comparison_text

_FORBIDDEN = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def to_junit(run: Run) -> str:
    """One test case for each expectation and each comparison.

    Source: the schema that Jenkins' JUnit plugin reads (testsuites, testsuite, testcase, failure).
    """
    cases = [_check(run, check) for check in run.checks]
    cases += [_comparison(run, each) for each in run.comparisons]
    if run.interrupted:
        cases.append(_case(run, "run", "complete", run.interrupted, kind="error"))
    suite = ET.Element(
        "testsuite",
        name=_clean(run.suite.name or "voxring"),
        tests=str(len(cases)),
        failures=str(sum(case.find("failure") is not None for case in cases)),
        errors=str(sum(case.find("error") is not None for case in cases)),
        skipped=str(sum(case.find("skipped") is not None for case in cases)),
        time=f"{run.suite.seconds:.1f}",
        timestamp=run.suite.started.rpartition("+")[0] or run.suite.started,
    )
    suite.extend(cases)
    root = ET.Element("testsuites")
    root.append(suite)
    ET.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(root, "unicode") + "\n"


def _check(run: Run, check: Check) -> ET.Element:
    name = f"{check.kind} ({'warm' if check.warm else 'cold'})"
    return _case(run, check.key, name, "" if check.passed else check.text)


def _comparison(run: Run, each: Comparison) -> ET.Element:
    case = _case(
        run,
        each.key or "all turns",
        f"{each.metric} against the baseline",
        comparison_text(each) if each.regression else "",
    )
    if each.ratio is None:
        ET.SubElement(case, "skipped", message=_clean(comparison_text(each)))
    return case


def _case(run: Run, key: str, name: str, failure: str, kind: str = "failure") -> ET.Element:
    case = ET.Element(
        "testcase", classname=_clean(f"{run.suite.name}.{key}"), name=_clean(name), time="0"
    )
    if failure:
        ET.SubElement(case, kind, message=_clean(failure)).text = _clean(failure)
    return case


def _clean(text: str) -> str:
    """Without what XML 1.0 cannot hold."""
    return _FORBIDDEN.sub("�", text)
