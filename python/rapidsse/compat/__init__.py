"""The names of other packages over rapidsse, a module for each, imported only when asked for."""
