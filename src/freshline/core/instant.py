"""When two computed times are one instant.

Feeds, releases and deadlines are sums of the same periods in different orders; sums that are
equal on paper differ in their last digits. Where a rule of Leontyev et al. 2009 asks for
equality or order of such sums, times closer than this are equal (rule L15).
"""

from __future__ import annotations

TIME_EPSILON_S = 1e-9
INSTANT_DIGITS = 9
"""The same as places after the point, for keys that have to be compared as they are."""
