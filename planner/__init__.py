"""Find the lowest-cost set of servers that holds an LLM's KV cache.

The data flows one way: catalogue and scenario files become exact domain objects, these become
builds (complete machines with a way to run the model on them), the builds become an integer
program, its solution becomes a plan that is verified again without the solver.
"""

__version__ = "0.1.0"
