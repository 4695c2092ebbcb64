"""The mathematics of one generation: draws, weights, gradients. No files, no simulator."""
