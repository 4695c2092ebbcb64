"""What this package raises."""


class FusedError(Exception):
    """Anything that this package raises of its own accord."""


class UnsupportedModelError(FusedError, ValueError):
    """A model has something that is not compiled."""

    def __init__(self, reasons: list[str]) -> None:
        self.reasons = reasons
        """What is not supported, one sentence each."""
        super().__init__("This model cannot be compiled: " + " ".join(reasons))


class MissingPackageError(FusedError, ImportError):
    """Something is asked for that another package does, which is not installed."""

    def __init__(self, what: str, package: str, install: str) -> None:
        super().__init__(f"{what} needs the package '{package}', which is not installed: pip install {install}.")


class ShapeError(FusedError, ValueError):
    """An array does not have the shape that a model asks for."""
