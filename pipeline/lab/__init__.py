"""The latency lab: suites of recorded conversations, their verdicts, comparisons and reports."""
