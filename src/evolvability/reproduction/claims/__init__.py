"""The paper's statements, as functions of run folders."""
