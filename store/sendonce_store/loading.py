"""Load a program without the garbage collector, which would look through what stays again and again.

Loading makes some hundred thousand objects that live as long as the process. Collecting meanwhile, and once more at the
end, is a seventh to a quarter of what a start costs. What was loaded is set aside (gc.freeze): nobody looks there
later. Only for who is the whole process: whatever is garbage at that moment stays for good, too.
"""

from __future__ import annotations

import gc


def begin() -> None:
    """Send the collector away until `end`."""
    gc.disable()


def end() -> None:
    """Set aside what was loaded, and have the collector back; without a `begin` before, nothing happens."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()
