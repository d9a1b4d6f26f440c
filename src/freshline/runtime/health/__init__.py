"""What hangs, what dies and clocks that jump: noticed, and mended where that can be done."""
