"""Quotes of vendors: spreadsheets to price books, and a template to fill in."""
