"""The mathematics: draws, weights, gradients. No files, no simulator."""
