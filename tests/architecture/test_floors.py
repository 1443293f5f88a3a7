"""How the package is built: floors, cycles, sizes, docstrings, and what a plan may import."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# From the ground up: a module imports from lower floors only, or from its own package.
FLOORS = [
    *("errors", "units", "scalars", "datafiles", "evidence", "dominance", "interrupts", "lazy"),
    *("registry", "documents", "fields", "program", "duality", "spread", "garbage"),
    *("attention", "paging", "prices", "profiles", "throughput", "engines", "efficiencies", "enginelogs"),
    *("reading", "gaps"),
    *("placement", "workload"),
    *("wiring", "hardware", "scenario", "split_scenario", "models", "topology", "assembly", "eligibility", "kvcache"),
    *("layout", "weights", "budget", "pool", "copies", "doubts", "importing", "estimates", "quotes"),
    *("catalog_checks", "loading", "owned", "throughput_files", "layering", "setting_paths", "scenario_checks"),
    *("scenario_services", "scenario_files", "schema", "lint"),
    *("demand", "flows", "build", "work", "service", "measured", "rates", "cores"),
    *("costs", "volume", "bill", "problem", "roles"),
    *("constraints", "worth", "wear", "objectives", "plan", "validity"),
    *("halves", "candidates", "joint", "formulation", "verify", "solvers", "solve", "separation", "proof"),
    *("caveats", "edges"),
    *("answer", "planning", "split", "relax"),
    *("questions", "render", "drawing", "views", "cli", "__main__"),
]
MOST_LINES = 500
MOST_LINES_OF_A_FUNCTION = 60


@cache
def sources() -> dict[str, ast.Module]:
    """Module name to its syntax tree."""
    found = {}
    for path in sorted((ROOT / "planner").rglob("*.py")):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        found[name] = ast.parse(path.read_text(encoding="utf-8"), str(path))
    return found


MODULES = list(sources())


def statements(body: list[ast.stmt], *, inside: bool) -> Iterator[ast.Import | ast.ImportFrom]:
    """Yield imports; those in functions only if `inside`, those for type checkers never."""
    for node in body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            yield from statements(node.orelse, inside=inside)
        elif inside or not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for name in ("body", "orelse", "finalbody"):
                yield from statements(getattr(node, name, None) or [], inside=inside)
            for handler in getattr(node, "handlers", []):
                yield from statements(handler.body, inside=inside)


def imports(module: str, *, inside: bool = False) -> set[str]:
    """Return what a module imports, submodules by their own name."""
    found = set()
    for node in statements(sources()[module].body, inside=inside):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        else:
            assert node.level == 0, f"{module} imports relatively"
            full = {alias.name: f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name if name in sources() else str(node.module) for name in full.values()}
    return found - {module}


def floor(module: str) -> str:
    """Return the first word behind the package: the floor that a module stands on."""
    return module.split(".")[1] if "." in module else ""


def test_every_module_has_a_floor() -> None:
    assert {floor(module) for module in MODULES} - {""} == set(FLOORS)


@pytest.mark.parametrize("module", [module for module in MODULES if floor(module)])
def test_imports_go_down(module: str) -> None:
    own = FLOORS.index(floor(module))
    up = [
        name
        for name in imports(module, inside=True)
        if name in sources() and floor(name) and floor(name) != floor(module) and FLOORS.index(floor(name)) > own
    ]
    assert up == []


def test_no_cycle() -> None:
    done: set[str] = set()

    def walk(module: str, above: tuple[str, ...]) -> None:
        assert module not in above, " imports ".join((*above[above.index(module) :], module))
        if module not in done:
            # A package's own file gathers its modules; they may name the package's ground, never that file.
            for name in sorted(imports(module) & set(MODULES)):
                walk(name, (*above, module))
            done.add(module)

    for module in MODULES:
        walk(module, ())


def importers(package: str) -> set[str]:
    return {module for module in MODULES if any(name.split(".")[0] == package for name in imports(module, inside=True))}


def test_pulp_stays_in_two_modules() -> None:
    assert importers("pulp") == {"planner.formulation.builder", "planner.solvers"}


def test_pandas_stays_at_the_edge() -> None:
    assert {floor(module) for module in importers("pandas")} <= {"questions", "render"}


@pytest.mark.parametrize("package", ["typer", "rich"])
def test_terminal_stays_in_the_command_line(package: str) -> None:
    assert {floor(module) for module in importers(package)} <= {"cli"}


@pytest.mark.parametrize("package", ["yaml", "pydantic", "numpy", "pandas", "networkx", "openpyxl"])
def test_heavy_packages_are_imported_where_they_are_used(package: str) -> None:
    top = {module for module in MODULES if any(name.split(".")[0] == package for name in imports(module))}
    assert top == set()


@pytest.mark.parametrize("module", MODULES)
def test_size_of_a_module(module: str) -> None:
    path = ROOT / (module.replace(".", "/") + ".py")
    path = path if path.is_file() else path.with_suffix("") / "__init__.py"
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MOST_LINES


Defined = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def definitions(body: list[ast.stmt], above: str = "") -> Iterator[tuple[str, Defined]]:
    for node in body:
        if isinstance(node, Defined):
            yield f"{above}{node.name}", node
            if isinstance(node, ast.ClassDef):
                yield from definitions(node.body, f"{above}{node.name}.")


@pytest.mark.parametrize("module", MODULES)
def test_size_of_functions(module: str) -> None:
    long = {
        node.name: node.end_lineno - node.lineno + 1
        for node in ast.walk(sources()[module])
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.end_lineno is not None
        and node.end_lineno - node.lineno + 1 > MOST_LINES_OF_A_FUNCTION
    }
    assert long == {}


@pytest.mark.parametrize("module", MODULES)
def test_docstrings(module: str) -> None:
    tree = sources()[module]
    bare = [
        name
        for name, node in definitions(tree.body)
        if not any(part.startswith("_") for part in name.split(".")) and not ast.get_docstring(node)
    ]
    assert bare == []
    assert ast.get_docstring(tree)


def loaded(*words: str) -> set[str]:
    """Return the packages that a command has loaded in a process of its own."""
    script = (
        "import sys, json\nfrom planner.cli import main\n"
        "try: main(sys.argv[1:])\nexcept SystemExit as end: assert not end.code, end.code\n"
        "print(json.dumps(sorted({name.split('.')[0] for name in sys.modules})), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script, *words], capture_output=True, text=True, check=True, cwd=ROOT)
    return set(json.loads(done.stderr.splitlines()[-1]))


def test_plan_loads_nothing_heavy_that_it_does_not_use() -> None:
    found = loaded("plan", "report-real", "-f", "json")
    assert (
        found & {"pandas", "networkx", "openpyxl", "matplotlib", "scipy", "jinja2", "xlsxwriter", "IPython", "pytest"}
        == set()
    )
    assert {"pulp", "pydantic", "yaml"} <= found


def test_other_commands_load_no_solver() -> None:
    for words in (("demand", "report-real"), ("fit", "--model", "glm-5", "--gpu", "h200-sxm"), ("model", "list")):
        assert loaded(*words) & {"pulp", "highspy", "numpy", "pandas", "networkx"} == set()


def test_version_loads_next_to_nothing() -> None:
    assert loaded("--version") & {"pulp", "pydantic", "yaml", "numpy", "pandas"} == set()
