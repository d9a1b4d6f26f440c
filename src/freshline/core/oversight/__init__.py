"""What is watched beside the scheduling: feeds that fall silent, bounds, and catching up.

Nothing here decides anything. ``feeds`` says whether a feed is out and whether it brings more
than its period promises, ``bounds`` counts when a table was later or staler than promised, and
why, ``catching_up`` says when a table that fell behind will be fresh again. All three are
told what happens at each instant, by a run's clock or by a test's.
"""
