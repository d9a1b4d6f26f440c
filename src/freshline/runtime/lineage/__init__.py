"""OpenLineage events of a run's updates; needs the extra ``freshline[lineage]``."""
