"""The warehouse at run time: the wall-clock driver of the core, its journal and its feeds."""
