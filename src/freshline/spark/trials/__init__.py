"""Trials: a view's strategies run on small generated inputs before any of them is trusted.

``constants`` reads what the query compares with, ``inputs`` makes rows around it, ``tables`` keeps
them as Delta tables, ``runner`` updates the view step by step and compares, ``evidence`` keeps
what went wrong.
"""
