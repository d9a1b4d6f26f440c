"""The parts of the adaptive update scheduler (Leontyev, Johnson and Anderson 2009).

``shares`` says how long an update is assumed to take and how often a table in recovery may
ask for one, ``bounds`` what follows from that, ``guarantee`` both together per table;
``modes`` is the state machine, ``releases`` when the next update of a table is released,
``capacity`` who may switch to recovery. The policy itself is ``policies/aus.py``.
"""
