"""The public names that ported code relies on: operators in each of their forms, and what stands around them."""

OPERATORS = {
    # family: primitive classes and functions of dualgrad.ops, methods of Tensor
    "elementwise": (
        """
            Square Exp Neg Mul Pow Log Div Add Sub RealDiv Sqrt Rsqrt Reciprocal Inv Expm1 Log1p Abs Sign
            SquaredDifference AddN Lerp DivNoNan FloorDiv FloorMod Mod Xlogy Xdivy MulNoNan Floor Ceil Round
            Trunc
        """,
        """
            square exp neg mul pow log div add sub true_divide sqrt rsqrt reciprocal inv expm1 log1p exp2
            log2 log10 abs sign addcmul addcdiv addn lerp floor_divide floor_mod fmod remainder xlogy xdivy
            hypot logaddexp logaddexp2 float_power ldexp floor ceil round trunc frac nan_to_num copysign
        """,
        """
            square exp neg mul pow log div add sub true_divide sqrt rsqrt reciprocal inv expm1 log1p log2
            log10 abs sign addcmul addcdiv lerp floor_divide fmod remainder xlogy xdivy hypot logaddexp
            logaddexp2 float_power ldexp floor ceil round trunc frac nan_to_num copysign
        """,
    ),
    "trigonometric and hyperbolic": (
        "Sin Cos Tan Sinh Cosh Atanh MatMul Tanh Asin ACos Atan Atan2 Asinh Acosh",
        "sin cos tan sinh cosh atanh matmul tanh asin acos atan atan2 asinh acosh sinc deg2rad rad2deg",
        "sin cos tan sinh cosh atanh matmul tanh asin acos atan atan2 asinh acosh sinc deg2rad rad2deg",
    ),
    "special functions": (
        "Erf Erfc Erfinv Lgamma Digamma Polygamma Igamma BesselJ0 BesselI0 BesselI1 Zeta",
        "erf erfc erfinv lgamma digamma polygamma igamma i0 bessel_j0 bessel_i0 bessel_i1 zeta",
        "erf erfc erfinv lgamma digamma igamma i0",
    ),
    "choice": (
        """
            Maximum Minimum Select MaskedFill Greater GreaterEqual Less LessEqual Equal NotEqual LogicalAnd
            LogicalOr LogicalNot IsNan IsFinite MaskedSelect
        """,
        """
            maximum minimum clamp clip where select masked_fill gt ge lt le equal ne logical_and logical_or
            logical_not isnan isfinite masked_select fmax fmin heaviside
        """,
        """
            maximum minimum clamp clip where select masked_fill gt ge lt le equal ne logical_and logical_or
            logical_not isnan isfinite masked_select fmax fmin heaviside
        """,
    ),
    "reductions and scans": (
        """
            ReduceSum ReduceMean ReduceMax ReduceMin ReduceProd LpNorm CumSum Argmax Argmin ReduceAll
            ReduceAny CumProd Cummax Cummin Sort TopK
        """,
        """
            sum mean max min amax amin prod std var logsumexp norm cumsum argmax argmin all any
            count_nonzero cumprod logcumsumexp cummax cummin median sort topk nansum aminmax std_mean
            var_mean
        """,
        """
            sum mean max min amax amin prod std var logsumexp norm cumsum argmax argmin all any
            count_nonzero cumprod logcumsumexp cummax cummin median sort topk nansum aminmax
        """,
    ),
    "linear algebra": (
        """
            BatchMatMul Ger Trace Tril Triu MatrixInverse LogMatrixDeterminant MatrixDeterminant Cholesky
            MatrixSolve CholeskySolve MatrixExp Svd Qr
        """,
        """
            bmm dot inner outer ger tensor_dot einsum mm mv addmm addmv baddbmm trace diag diagonal tril
            triu inverse cross cdist slogdet det cholesky cholesky_solve matrix_power matrix_exp kron svd qr
            pinv vander logdet
        """,
        """
            bmm inner outer ger mm addmm addmv baddbmm trace diag diagonal tril triu inverse cross det
            cholesky cholesky_solve matrix_power svd qr logdet
        """,
    ),
    "shape": (
        """
            Reshape Transpose ExpandDims Squeeze Flatten BroadcastTo Tile Concat Stack Unstack Split Cast
            Identity OnesLike ZerosLike Roll Pad MirrorPad
        """,
        """
            reshape transpose permute swapaxes t expand_dims unsqueeze squeeze flatten broadcast_to
            expand_as tile cat stack unstack split chunk cast identity ones_like zeros_like full_like
            repeat_interleave flip moveaxis meshgrid roll rot90 pad hstack vstack narrow unfold fold
            block_diag
        """,
        """
            reshape view transpose permute swapaxes t expand_dims unsqueeze squeeze flatten broadcast_to
            expand_as tile unbind split chunk astype repeat_interleave flip moveaxis roll rot90 narrow
            unfold fold
        """,
    ),
    "indexing": (
        """
            Gather GatherD GatherNd ScatterNd TensorScatterAdd TensorScatterUpdate Slice StridedSlice OneHot
            TensorScatterSub TensorScatterMul TensorScatterMax IndexAdd UnsortedSegmentSum
            UnsortedSegmentMax UnsortedSegmentMin
        """,
        """
            gather gather_d gather_elements gather_nd index_select scatter_nd tensor_scatter_add scatter
            scatter_add tensor_scatter_elements slice strided_slice one_hot tensor_scatter_sub
            tensor_scatter_mul tensor_scatter_max index_add index_fill take unsorted_segment_sum
            unsorted_segment_max unsorted_segment_min nonzero searchsorted
        """,
        """
            gather gather_elements gather_nd index_select scatter scatter_add index_add index_fill take
            nonzero searchsorted
        """,
    ),
    "activations": (
        """
            ReLU Sigmoid Softplus GeLU Softmax LogSoftmax Elu Softsign Mish SeLU HSigmoid HSwish ReLU6 PReLU
            HShrink SoftShrink L2Normalize
        """,
        """
            relu sigmoid softplus silu gelu softmax log_softmax elu leaky_relu softsign logsigmoid mish selu
            celu hardsigmoid hardswish relu6 prelu tanhshrink softmin glu hardshrink softshrink
        """,
        "sigmoid softmax",
    ),
    "layers": (
        """
            NLLLoss BCEWithLogitsLoss BiasAdd LayerNorm KLDivLoss SoftmaxCrossEntropyWithLogits Conv2D
            MaxPool AvgPool Dropout
        """,
        """
            mse_loss l1_loss smooth_l1_loss huber_loss cross_entropy nll_loss binary_cross_entropy
            binary_cross_entropy_with_logits bias_add dense layer_norm kl_div cosine_similarity
            gaussian_nll_loss batch_norm group_norm conv1d conv2d max_pool2d avg_pool2d dropout embedding
        """,
        "",
    ),
}

SURROUNDINGS = {
    # where, seen from dualgrad: what
    "": "grad value_and_grad vmap jit set_seed run_check data_sink",
    "ops": """
        GradOperation HyperMap partial value_and_grad stop_gradient depend constexpr DType Assign assign
        AssignAdd Print Shape Rank Size Fill zeros ones eye arange linspace full rand randn clip_by_value
        clip_by_global_norm
    """,
    "ops.composite": "GradOperation HyperMap MultitypeFuncGraph",
    "ops.composite.MultitypeFuncGraph": "register",
    "ops.functional": "grad vmap value_and_grad",
    "ops.operations": "Add MatMul Split Gather",
    "numpy": "zeros ones full arange linspace sin cos sqrt sum mean square where concatenate stack meshgrid",
    "common.initializer": "initializer Normal Uniform XavierUniform HeUniform Zero One",
    "amp": """all_finite StaticLossScaler DynamicLossScaler auto_mixed_precision custom_mixed_precision get_white_list
        get_black_list build_train_network""",
    "amp.DynamicLossScaler": "scale unscale adjust",
    "amp.StaticLossScaler": "scale unscale adjust",
    "dataset": "GeneratorDataset",
    "dataset.GeneratorDataset": "batch create_tuple_iterator get_dataset_size",
    "context": "get_context set_context",
    "nn.Cell": "set_train update_parameters_name insert_child_to_cell insert_param_to_cell",
    "Parameter": "set_data",
}
