"""placeholder until the grammar helper lands"""
from .records import Emission
def parse_inline(emission: Emission) -> Emission:
    raise NotImplementedError
