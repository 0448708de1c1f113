"""What stays of a conversation as plain lines, for a file or another program: pure."""

from pipeline.terminal.entry import CUT, Entry, Note


def lines(entry: Entry) -> list[str]:
    """One line for each thing, `WHO: TEXT`, whatever its length."""
    if isinstance(entry, Note):
        return [f"note: {entry.text}"]
    told = []
    if entry.user:
        told.append(f"you: {entry.user}")
    if entry.answer:
        told.append(f"voxring: {entry.answer}{f' {CUT}' if entry.is_cut else ''}")
    if entry.remark:
        told.append(f"note: {entry.remark}")
    if entry.latency:
        told.append(f"latency: {entry.latency} ({entry.phases})")
    return told
