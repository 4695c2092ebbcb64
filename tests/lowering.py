"""Tests make thousands of small programs, and JAX takes longer to write most of them down than they run."""

import contextlib
import importlib
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp


def lower_sooner() -> None:
    """Let programs share what JAX makes anew for each. Another version of it may have other functions: then none do."""
    with contextlib.suppress(ImportError, AttributeError):
        mlir: Any = importlib.import_module("jax._src.interpreters.mlir")
        _share_context(mlir)
        _share_random_bits(mlir, importlib.import_module("jax._src.random.threefry2x32"))


def _share_context(mlir: Any) -> None:
    """JAX sets up MLIR for each program: 5 ms, and some 100 KB that stay."""
    mlir.make_ir_context = lru_cache(1)(mlir.make_ir_context)


def _share_random_bits(mlir: Any, threefry: Any) -> None:
    """JAX traces and writes the loop that makes random bits wherever it is used: 10 ms. It is kept as text here."""
    loop, ir = jax.jit(threefry._threefry2x32_lowering), mlir.ir

    @lru_cache(None)
    def text(*shapes: tuple[int, ...]) -> str:
        return str(loop.lower(*(jax.ShapeDtypeStruct(shape, jnp.uint32) for shape in shapes)).as_text())

    def call_of_loop(context: Any, *keys_and_counters: Any) -> list[Any]:
        """What is written in place of the loop, which is put beside the program's functions."""
        module = context.module_context
        parsed = ir.Module.parse(text(*(kind.shape for kind in context.avals_in)), module.context)
        name = mlir.merge_mlir_modules(module.module, "random_bits", parsed, module.symbol_table)
        kinds = [mlir.aval_to_ir_type(module, kind) for kind in context.avals_out]
        return list(mlir.func_dialect.CallOp(kinds, ir.FlatSymbolRefAttr.get(name), keys_and_counters).results)

    mlir.register_lowering(threefry.threefry2x32_p, call_of_loop, platform="cpu")
