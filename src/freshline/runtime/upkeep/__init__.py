"""What idle tracks do: compaction, VACUUM, trials and audits."""
