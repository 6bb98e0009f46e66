"""Programs with one error on each line that ends in `# error`; checkers have to find these, and no others.

`planted` is never called: `test_checkers.py` gives the file to mypy and pyright.
"""

import dualgrad as dg
from dualgrad import Parameter, Tensor, nn, ops


def energy(x: Tensor, k: float) -> Tensor:
    return (k * x * x).sum()


def two(x: Tensor, y: Tensor) -> Tensor:
    return (x * y).sum()


def weights_of(weights: dict[str, Tensor]) -> Tensor:
    return weights["a"].sum()


x = Tensor([1.0, 2.0])
net = nn.Dense(3, 4)


def planted() -> None:
    # Names that do not exist.
    dg.gradd(energy)  # error
    ops.sinn(x)  # error
    ops.operations.Sinn()  # error
    nn.Dens(3, 4)  # error
    x.summ()  # error
    print(net.weigth)  # error
    net(x).summ()  # error
    dg.grad(energy)(x, 1.0).summ()  # error

    # Arguments of layers, operators, tensors, settings.
    nn.Dense(3)  # error
    nn.Dense(3, 4, has_bia=False)  # error
    nn.Adam()  # error
    nn.SGD(net.trainable_params(), learning_rat=0.1)  # error
    ops.tile(x)  # error
    ops.one_hot(x, 3, axs=0)  # error
    ops.GradOperation(get_al=True)  # error
    Tensor([1.0], dtyp=dg.float32)  # error
    Parameter(x, nam="w")  # error
    dg.set_context(mod=1)  # error
    dg.set_context(mode="graph")  # error
    dg.grad(energy, argnums=0)  # error
    dg.grad(3)  # error
    dg.hessian(energy, chunk=3)  # error
    dg.laplacian(energy, order=2)  # error
    dg.vmap(energy, axes=0)  # error
    dg.Model()  # error

    # Calls of what transforms return.
    dg.grad(energy)("a", 1.0)  # error
    dg.grad(energy)(x)  # error
    dg.grad(energy)(x, 1.0, 2.0)  # error
    dg.grad(energy)(x, k="k")  # error
    dg.grad(dg.grad(energy))(x, "k")  # error
    dg.grad(two, 1)(x, "y")  # error
    dg.grad(weights_of)({"a": 1})  # error
    dg.value_and_grad(energy)(x)  # error
    dg.hessian(energy)(x, 1.0, 2.0)  # error
    dg.jacfwd(energy)(x, "k")  # error
    dg.jacrev(energy)("x", 1.0)  # error
    dg.laplacian(energy)(x, "k")  # error
    dg.biharmonic(energy)(x)  # error
    dg.jit(energy)(x, "k")  # error
    dg.jit(pure=True)(energy)(x)  # error
    dg.vmap(energy)("x", 1.0)  # error
    dg.recompute(energy)(x)  # error
    dg.custom_vjp(energy)(x)  # error
    ops.GradOperation()(energy)(x, "k")  # error

    # Results that are used as something else.
    a, b, c = dg.value_and_grad(energy)(x, 1.0)  # error
    print(a, b, c)
    dg.grad(two, (0, 1))(x, x).sum()  # error
    dg.value_and_grad(energy)(x, 1.0).sum()  # error
    dg.jvp(energy, (x, 1.0), (x, 1.0)).sum()  # error
    dg.grad(weights_of)({"a": x}).sum()  # error
