"""Results as reports: what each command shows, for people and for machines."""
