"""Import of models from Hugging Face configurations."""

from __future__ import annotations

from planner.importing.config import Imported, import_config, import_model
from planner.importing.wishes import Wishes

__all__ = ["Imported", "Wishes", "import_config", "import_model"]
