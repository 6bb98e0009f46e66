"""Einstein's convention: diagonals, traces, stacks, broadcasting, several operands."""

from cases import Case, normal
from dualgrad import ops


def case(equation, *shapes):
    args = tuple(normal(*shape, seed=k) for k, shape in enumerate(shapes))
    return Case("einsum", equation, lambda *xs: ops.einsum(equation, *xs), args)


CASES = [
    case("ij->ji", (2, 3)),
    case("ij->", (2, 3)),
    case("ii", (3, 3)),
    case("iij->ji", (2, 2, 3)),
    case("iii->i", (2, 2, 2)),
    case("...i->i...", (2, 3, 2)),
    case("i,i", (3,), (3,)),
    case("i,j->ji", (2,), (3,)),
    case("ij,j->ij", (2, 3), (3,)),
    case("ij,ji->ji", (2, 3), (3, 2)),
    case("ij,jk", (2, 3), (3, 2)),
    case("ji,kj->ik", (3, 2), (2, 3)),
    case("ijk,kjl->il", (2, 3, 2), (2, 3, 2)),
    case("ij,kl->il", (2, 3), (2, 2)),
    case(",ij->ij", (), (2, 2)),
    case("ii,ij->j", (2, 2), (2, 3)),
    case("ij,jk", (2, 1), (3, 2)),
    case("bij,bjk->bik", (2, 2, 3), (2, 3, 2)),
    case("bi,bi->b", (2, 3), (2, 3)),
    case("...ij,...jk->...ik", (2, 1, 2, 2), (3, 2, 2)),
    case("ij...,jk...->ik...", (2, 3, 2), (3, 2, 1)),
    case("ij,jk,kl->li", (2, 3), (3, 2), (2, 2)),
    case("i,i,i->i", (3,), (3,), (1,)),
    case("ijk,il,jm,kn->lmn", (2, 2, 2), (2, 2), (2, 1), (2, 2)),
    case("ab,bc,cd,de,ea", *[(2, 2)] * 5),
    Case("einsum", "lists of axes", lambda x, y: ops.einsum(x, [..., 1], y, [1, 2], [2, ...]),
         (normal(2, 3), normal(3, 2))),
    Case("einsum", "one operand twice", lambda x: ops.einsum("ij,kj,kl->il", x, x, x), (normal(2, 2),)),
]  # fmt: skip
