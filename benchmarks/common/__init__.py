"""What every benchmark needs: its report, its projects, its child processes."""
