"""From builds to an integer program in small whole numbers."""
