"""Rented instances with traffic split freely: from a measured profile to a proven plan."""
