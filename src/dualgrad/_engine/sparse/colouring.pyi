import numpy as np

def colour_columns(
    rows: np.ndarray, columns: np.ndarray, starts: np.ndarray, members: np.ndarray, order: str
) -> np.ndarray: ...
def colour_stars(
    starts: np.ndarray, members: np.ndarray, mates: np.ndarray, order: str
) -> tuple[np.ndarray, np.ndarray]: ...
