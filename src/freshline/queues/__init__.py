"""Queues larger than memory, and the algorithms of Motwani and Thomas (2004) that spill them.

Pure: the standard library alone. ``spilling`` is the way in, ``algorithm`` says what an
algorithm is, ``algorithms`` holds one a file.
"""
