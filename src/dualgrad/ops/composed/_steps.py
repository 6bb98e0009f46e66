"""One step of each optimiser, as a function of values.

The optimisers of `nn` and the primitive classes of ported code take their steps here. `var` is a parameter, `grad` its
gradient and `lr` the learning rate; the state of the optimiser comes next, under MindSpore's names. A function returns
the new parameter, then the new state in the order of its arguments. Nothing is changed in place.
"""

from __future__ import annotations

from typing import Any

from ..index.choice import where
from ..math.elementwise import abs, exp, maximum, relu, sign, sqrt, square

Values = tuple[Any, ...]


def gradient_descent(var: Any, grad: Any, lr: Any) -> Values:
    return (var - lr * grad,)


def momentum(var: Any, accum: Any, grad: Any, lr: Any, momentum: Any, use_nesterov: bool = False) -> Values:
    accum = momentum * accum + grad
    return var - lr * (grad + momentum * accum if use_nesterov else accum), accum


def keras_momentum(var: Any, accum: Any, grad: Any, lr: Any, momentum: Any, use_nesterov: bool = False) -> Values:
    accum = momentum * accum - lr * grad
    return var + (momentum * accum - lr * grad if use_nesterov else accum), accum


def moments(m: Any, v: Any, grad: Any, beta1: Any, beta2: Any) -> Values:
    """The running means of the gradient and of its square."""
    return beta1 * m + (1.0 - beta1) * grad, beta2 * v + (1.0 - beta2) * square(grad)


def adam(
    var: Any, m: Any, v: Any, grad: Any, lr: Any, beta1: Any, beta2: Any, epsilon: Any, use_nesterov: bool = False
) -> Values:
    """Step of Adam; `lr` already has the bias correction."""
    m, v = moments(m, v, grad, beta1, beta2)
    mean = beta1 * m + (1.0 - beta1) * grad if use_nesterov else m
    return var - lr * mean / (sqrt(v) + epsilon), m, v


def amsgrad(
    var: Any, m: Any, v: Any, vhat: Any, grad: Any, lr: Any, beta1: Any, beta2: Any, epsilon: Any, use_nesterov: bool
) -> Values:
    m, v = moments(m, v, grad, beta1, beta2)
    vhat = maximum(vhat, v)
    mean = beta1 * m + (1.0 - beta1) * grad if use_nesterov else m
    return var - lr * mean / (sqrt(vhat) + epsilon), m, v, vhat


def adam_weight_decay(
    var: Any, m: Any, v: Any, grad: Any, lr: Any, beta1: Any, beta2: Any, epsilon: Any, decay: Any
) -> Values:
    m, v = moments(m, v, grad, beta1, beta2)
    move = m / (sqrt(v) + epsilon)
    if not isinstance(decay, float) or decay:
        move = move + decay * var
    return var - lr * move, m, v


def ada_max(var: Any, m: Any, v: Any, grad: Any, lr: Any, beta1: Any, beta2: Any, epsilon: Any) -> Values:
    m = beta1 * m + (1.0 - beta1) * grad
    v = maximum(beta2 * v, abs(grad))
    return var - lr * m / (v + epsilon), m, v


def rms_prop(
    var: Any, mean_square: Any, moment: Any, grad: Any, lr: Any, decay: Any, momentum: Any, epsilon: Any
) -> Values:
    mean_square = decay * mean_square + (1.0 - decay) * square(grad)
    moment = momentum * moment + lr * grad / sqrt(mean_square + epsilon)
    return var - moment, mean_square, moment


def centered_rms_prop(
    var: Any,
    mean_gradient: Any,
    mean_square: Any,
    moment: Any,
    grad: Any,
    lr: Any,
    decay: Any,
    momentum: Any,
    epsilon: Any,
) -> Values:
    mean_gradient = decay * mean_gradient + (1.0 - decay) * grad
    mean_square = decay * mean_square + (1.0 - decay) * square(grad)
    moment = momentum * moment + lr * grad / sqrt(mean_square - square(mean_gradient) + epsilon)
    return var - moment, mean_gradient, mean_square, moment


def adagrad(var: Any, accum: Any, grad: Any, lr: Any, epsilon: float = 0.0, update_slots: bool = True) -> Values:
    if update_slots:
        accum = accum + square(grad)
    root = sqrt(accum)
    return var - lr * grad / (root + epsilon if epsilon else root), accum


def adagrad_da(
    var: Any, gradients: Any, squares: Any, grad: Any, lr: Any, l1: Any, l2: Any, global_step: Any
) -> Values:
    """Dual averaging: the parameter follows from the sums of all gradients and of their squares."""
    gradients, squares = gradients + grad, squares + square(grad)
    shrunk = sign(gradients) * relu(abs(gradients) - l1 * global_step)
    return -lr * shrunk / (l2 * global_step * lr + sqrt(squares)), gradients, squares


def adadelta(var: Any, accum: Any, accum_update: Any, grad: Any, lr: Any, rho: Any, epsilon: Any) -> Values:
    accum = rho * accum + (1.0 - rho) * square(grad)
    move = grad * sqrt(accum_update + epsilon) / sqrt(accum + epsilon)
    return var - lr * move, accum, rho * accum_update + (1.0 - rho) * square(move)


def ftrl(var: Any, accum: Any, linear: Any, grad: Any, lr: Any, l1: Any, l2: Any, lr_power: Any) -> Values:
    after = accum + square(grad)
    old, new = accum**-lr_power, after**-lr_power
    linear = linear + grad - (new - old) / lr * var
    moved = abs(linear) > l1
    below = where(moved, new / lr + 2.0 * l2, 1.0)
    return where(moved, (sign(linear) * l1 - linear) / below, 0.0), after, linear


def proximal_gradient_descent(var: Any, grad: Any, lr: Any, l1: Any, l2: Any) -> Values:
    moved = var - lr * grad
    return (sign(moved) * relu(abs(moved) - lr * l1) / (1.0 + lr * l2),)


def proximal_adagrad(var: Any, accum: Any, grad: Any, lr: Any, l1: Any, l2: Any) -> Values:
    accum = accum + square(grad)
    return *proximal_gradient_descent(var, grad, lr / sqrt(accum), l1, l2), accum


def add_sign(var: Any, m: Any, grad: Any, lr: Any, alpha: Any, sign_decay: Any, beta: Any) -> Values:
    m = beta * m + (1.0 - beta) * grad
    return var - lr * (alpha + sign_decay * sign(grad) * sign(m)) * grad, m


def power_sign(var: Any, m: Any, grad: Any, lr: Any, logbase: Any, sign_decay: Any, beta: Any) -> Values:
    m = beta * m + (1.0 - beta) * grad
    return var - lr * exp(logbase * sign_decay * sign(grad) * sign(m)) * grad, m


def sgd(
    var: Any,
    accum: Any,
    stat: Any,
    grad: Any,
    lr: Any,
    momentum: Any,
    dampening: Any,
    weight_decay: Any,
    nesterov: bool,
) -> Values:
    """Step of SGD; `stat` is above 0 where `accum` begins with the gradient itself."""
    grad = grad + weight_decay * var
    accum = where(stat > 0, grad, momentum * accum + (1.0 - dampening) * grad)
    return var - lr * (grad + momentum * accum if nesterov else accum), accum, where(stat > 0, 0.0, stat)
