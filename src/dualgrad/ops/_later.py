"""The files of `dualgrad.ops` that are imported when one of their names is first asked for.

`tests/package/test_later.py`, run as a script, writes the names.
"""

# Their public names.
NAMES = {
    "neural.convolution": """
        Conv2D Conv3D Conv3DTranspose conv1d conv2d conv3d conv3d_transpose conv_transpose1d conv_transpose2d
        conv_transpose3d
    """,
    "neural.pooling": """
        AdaptiveAvgPool2D AdaptiveAvgPool3D AdaptiveMaxPool2D AdaptiveMaxPool3D AvgPool AvgPool3D MaxPool MaxPool3D
        MaxPool3DWithArgmax MaxPoolWithArgmax MaxPoolWithArgmaxV2 adaptive_avg_pool1d adaptive_avg_pool2d
        adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d avg_pool1d avg_pool2d avg_pool3d
        lp_pool1d lp_pool2d max_pool1d max_pool2d max_pool3d max_unpool1d max_unpool2d max_unpool3d
    """,
    "neural.deformable": """
        DeformableOffsets deformable_conv2d
    """,
    "neural.resampling": """
        ResizeBicubic ResizeBilinear ResizeBilinearV2 ResizeLinear1D ResizeNearestNeighbor ResizeNearestNeighborV2
        UpsampleNearest3D UpsampleTrilinear3D interpolate upsample
    """,
    "neural.grids": """
        AffineGrid GridSampler2D GridSampler3D affine_grid grid_sample
    """,
    "neural.boxes": """
        BoundingBoxDecode BoundingBoxEncode CheckValid IOU bounding_box_decode bounding_box_encode check_valid iou
    """,
    "neural.colours": """
        HSVToRGB RGBToHSV
    """,
    "neural.crops": """
        CropAndResize crop_and_resize
    """,
    "neural.regions": """
        PSROIPooling ROIAlign
    """,
    "neural.suppression": """
        CombinedNonMaxSuppression NMSWithMask
    """,
    "neural.blocks": """
        BatchToSpace BatchToSpaceND ChannelShuffle DepthToSpace SpaceToBatch SpaceToBatchND SpaceToDepth
        batch_to_space_nd channel_shuffle pixel_shuffle pixel_unshuffle space_to_batch_nd
    """,
    "signal.stft": """
        STFT stft
    """,
    "random.distributions": """
        gamma laplace normal poisson rand_like randn_like random_gamma random_poisson standard_laplace standard_normal
        uniform
    """,
    "random.choices": """
        bernoulli choice_with_mask multinomial multinomial_with_replacement randint randint_like random_categorical
        randperm shuffle
    """,
    "random.candidates": """
        ComputeAccidentalHits LogUniformCandidateSampler UniformCandidateSampler log_uniform_candidate_sampler
        uniform_candidate_sampler
    """,
    "random.truncated": """
        ParameterizedTruncatedNormal
    """,
    "random.seeded": """
        Bernoulli Cauchy Gamma Multinomial MultinomialWithReplacement Poisson RandomCategorical RandomChoiceWithMask
        RandomGamma RandomPoisson RandomShuffle StandardLaplace StandardNormal TruncatedNormal Uniform UniformInt
        UniformReal
    """,
    "composed.scalars": """
        bool_and bool_eq bool_not bool_or dict_getitem dyn_shape floordiv floormod in_dict is_ is_not list_equal
        list_getitem list_len movedim not_in_dict numel positive pows row_stack scalar_add scalar_div scalar_eq
        scalar_floordiv scalar_ge scalar_gt scalar_le scalar_log scalar_lt scalar_max scalar_min scalar_mod scalar_mul
        scalar_ne scalar_pow scalar_sub scalar_uadd scalar_usub shape_ shape_mul string_concat string_eq swapdims
        tensor_add tensor_div tensor_exp tensor_expm1 tensor_floordiv tensor_ge tensor_gt tensor_le tensor_lt tensor_mod
        tensor_mul tensor_pow tensor_sub tuple_equal tuple_getitem tuple_len type_as
    """,
    "composed.shapes": """
        ConjugateTranspose atleast_1d atleast_2d atleast_3d column_stack dsplit dstack expand hsplit tensor_split
        view_as vsplit
    """,
    "composed.reversals": """
        ReverseSequence ReverseV2 fliplr flipud repeat_elements reverse reverse_sequence
    """,
    "composed.positions": """
        DataFormatDimMap argwhere cartesian_prod combinations sequence_mask tril_indices triu_indices
    """,
    "composed.diagonals": """
        FillDiagonal MatrixBandPart diag_embed diagflat diagonal_scatter fill_diagonal matrix_band_part select_scatter
        slice_scatter
    """,
    "composed.bands": """
        MatrixDiagPartV3 MatrixDiagV3 MatrixSetDiagV3 matrix_diag matrix_diag_part matrix_set_diag
    """,
    "composed.comparisons": """
        ApproximateEqual IsClose allclose approximate_equal is_nonzero isclose isneginf isposinf isreal signbit
    """,
    "composed.numbers": """
        BitwiseAnd BitwiseOr BitwiseXor Invert IsInf Logit NextAfter PopulationCount Rint TruncateDiv TruncateMod
        bitwise_and bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor invert logit logspace
        nextafter truncate_div truncate_mod
    """,
    "composed.sums": """
        AccumulateNV2 Einsum EuclideanNorm L2Loss Renorm SquareSumAll UnsortedSegmentProd accumulate_n addbmm addr
        batch_dot dist matrix_norm pdist renorm unsorted_segment_prod vecdot vector_norm
    """,
    "composed.quantiles": """
        ArgMaxWithValue ArgMinWithValue CountNonZero Median ReduceStd argmax_with_value argmin_with_value nanmean
        nanmedian nanquantile ptp quantile reduce_max reduce_mean reduce_min reduce_sum
    """,
    "composed.counting": """
        EqualCount InTopK ListDiff SearchSorted Unique UniqueWithPad bincount bucketize equal_count histc intopk msort
        top_k unique
    """,
    "composed.networks": """
        CeLU Dropout2D Dropout3D FastGeLU FastGelu LRN Primitive bidense clip_by_norm dropout1d dropout2d dropout3d
        fast_gelu gumbel_softmax lrn rms_norm swiglu threshold
    """,
    "composed.attention": """
        flash_attention_score
    """,
    "composed.filling": """
        FillV2 Padding Range new_ones new_zeros padding range
    """,
    "composed.rows": """
        EmbeddingLookup InplaceAdd InplaceIndexAdd InplaceSub InplaceUpdate InplaceUpdateV2 ScatterAdd ScatterDiv
        ScatterMax ScatterMin ScatterMul ScatterNdAdd ScatterNdDiv ScatterNdMax ScatterNdMin ScatterNdMul ScatterNdSub
        ScatterNdUpdate ScatterSub ScatterUpdate SparseTensorDenseMatmul TensorScatterElements inplace_add
        inplace_index_add inplace_sub inplace_update scatter_div scatter_max scatter_min scatter_mul scatter_nd_add
        scatter_nd_div scatter_nd_max scatter_nd_min scatter_nd_mul scatter_nd_sub scatter_nd_update scatter_sub
        scatter_update
    """,
    "composed.steps": """
        Adam AdamWeightDecay ApplyAdaMax ApplyAdadelta ApplyAdagrad ApplyAdagradDA ApplyAdagradV2 ApplyAdamWithAmsgrad
        ApplyAdamWithAmsgradV2 ApplyAddSign ApplyCenteredRMSProp ApplyFtrl ApplyGradientDescent ApplyKerasMomentum
        ApplyMomentum ApplyPowerSign ApplyProximalAdagrad ApplyProximalGradientDescent ApplyRMSProp FusedSparseAdam
        FusedSparseFtrl FusedSparseLazyAdam FusedSparseProximalAdagrad SGD SparseApplyAdagrad SparseApplyAdagradV2
        SparseApplyFtrl SparseApplyRMSProp
    """,
    "composed.margins": """
        BinaryCrossEntropy SigmoidCrossEntropyWithLogits SmoothL1Loss SoftMarginLoss SparseSoftmaxCrossEntropyWithLogits
        hinge_embedding_loss margin_ranking_loss multi_margin_loss multilabel_margin_loss multilabel_soft_margin_loss
        soft_margin_loss triplet_margin_loss
    """,
    "composed.sequences": """
        CTCGreedyDecoder CTCLoss CTCLossV2 NoRepeatNGram ctc_greedy_decoder ctc_loss
    """,
    "composed.fractional": """
        FractionalAvgPool FractionalMaxPool FractionalMaxPool3DWithFixedKsize FractionalMaxPoolWithFixedKsize
        fractional_max_pool2d fractional_max_pool3d
    """,
    "composed.triplets": """
        SparseAdd SparseAddmm SparseDenseCwiseAdd SparseDenseCwiseDiv SparseDenseCwiseMul SparseReorder SparseReshape
        SparseSegmentMean SparseSegmentMeanWithNumSegments SparseSegmentSqrtN SparseSegmentSqrtNWithNumSegments
        SparseSegmentSum SparseSegmentSumWithNumSegments SparseSparseMaximum SparseSparseMinimum SparseToDense
        sparse_segment_mean
    """,
    "composed.windows": """
        bartlett_window blackman_window hamming_window hann_window kaiser_window
    """,
    "composed.methods": "",
    "collective": """
        AllGather AllReduce Broadcast ReduceOp ReduceScatter
    """,
}

# Their methods of `Tensor`.
METHODS = {
    "random.choices": """
        bernoulli multinomial random_categorical
    """,
    "composed.scalars": """
        movedim positive swapdims type_as
    """,
    "composed.shapes": """
        dsplit hsplit tensor_split view_as vsplit
    """,
    "composed.reversals": """
        fliplr flipud reverse
    """,
    "composed.positions": """
        argwhere
    """,
    "composed.diagonals": """
        diagflat diagonal_scatter fill_diagonal select_scatter slice_scatter
    """,
    "composed.comparisons": """
        allclose approximate_equal isclose isneginf isposinf isreal signbit
    """,
    "composed.numbers": """
        bitwise_and bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor invert logit
    """,
    "composed.sums": """
        addbmm addr renorm
    """,
    "composed.quantiles": """
        argmax_with_value argmin_with_value nanmean nanmedian nanquantile ptp quantile
    """,
    "composed.counting": """
        bincount histc msort top_k unique
    """,
    "composed.methods": """
        add_ addmm_ bernoulli_ bool byte clamp_ clone contiguous copy_ dim div_ double erfinv_ exp_ expand exponential_
        fill fill_ float floor_ floor_divide_ half hardshrink index_add_ index_fill_ index_put index_put_ int
        is_contiguous is_signed itemset kthvalue log_ log_matrix_determinant long masked_fill_ matrix_determinant mul_
        ndimension nelement new_empty new_full new_ones new_zeros normal_ numel random_ remainder_ repeat reshape_as
        reverse_sequence scatter_ scatter_add_ scatter_div scatter_max scatter_min scatter_mul scatter_sub set_dtype
        short sigmoid_ sign_ soft_shrink stride sub_ sum_to_size tanh_ to type uniform_ value zero_
    """,
}
