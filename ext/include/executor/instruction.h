/* Instructions, and the regions that they make up: what the executor reads, and nothing that runs. */
#ifndef DG_INSTRUCTION_H
#define DG_INSTRUCTION_H

#include "vector/loop.h"

/* The kinds of instructions, one row of instructions.def each. */
#define DG_INSTRUCTION(NAME, name, ...) DG_##NAME,
enum {
#include "executor/instructions.def"
    DG_N_KINDS
};
#undef DG_INSTRUCTION

static inline const char *dg_kind_name(int kind)
{
#define DG_INSTRUCTION(NAME, name, ...) #name,
    static const char *const names[] = {
#include "executor/instructions.def"
    };
#undef DG_INSTRUCTION
    return kind >= 0 && kind < DG_N_KINDS ? names[kind] : "unknown";
}

enum { DG_PLACES = 6, DG_MAX_AXES = 6, DG_MAX_INDICES = 3, DG_MAX_THREADS = 64 };

typedef struct {
    int count;                           /* index arrays, */
    int wide;                            /* of int64, else int32 */
    npy_intp width;                      /* elements of a pick */
    npy_intp step[DG_MAX_INDICES];       /* of an index array: bytes from pick to pick */
    npy_intp extent[DG_MAX_INDICES];     /* the length of the axis it is for, */
    npy_intp stride[DG_MAX_INDICES];     /* and its bytes from element to element */
} dg_picks;

typedef struct {
    int base;
    npy_intp offset; /* bytes */
    npy_intp row;    /* bytes per row of the whole array; 0 for block memory and for what all rows share */
    npy_intp local;  /* bytes per row of the block, in block memory; else 0 */
} dg_operand;

typedef struct {
    int kind;
    int n_in;
    dg_loop fn;
    void *data;
    npy_intp low, high;     /* the rows that there are, */
    npy_intp before, after; /* and how many a block needs beside its own */
    dg_operand arg[DG_PLACES]; /* the operands, then the result, then scratch */
    npy_intp step[DG_PLACES]; /* elementwise: bytes between elements, operands then result */
    npy_intp width;    /* elements per row */
    npy_intp period;   /* elementwise: rows after which an operand that all rows share is begun again; or 0 */
    npy_intp advance[DG_PLACES]; /* then: bytes per row */
    npy_intp dims[4];  /* products: stack, m, k, n; picks: stack, picks; -p stands for p times the number of rows;
                          scaled rows: which products absorb */
    npy_intp strides[9];
    int axes;          /* copies: axes after that of the rows, their lengths and strides; [0] is that of the rows */
    npy_intp shape[DG_MAX_AXES];
    npy_intp from[DG_MAX_AXES]; /* picks: [0] is from stack to stack, of the operand, */
    npy_intp to[DG_MAX_AXES];   /* and of the result */
    npy_intp item;
    dg_picks picks;
    int once;          /* the same for every block: executed for the first one only, on `high` rows */
    dg_loop add;       /* products that are added up: the loop that adds, and its data */
    void *add_data;
    npy_intp half;     /* products that equal their transposes: how many columns do, and the first of them; or 0 */
    npy_intp half_from;
} dg_instruction;

/* Memory outside the block that a region walks along, row by row. A block is about as long as a page, and the
 * processor's own prefetching begins anew with each page: so the lines of the next block are asked for here, a share of
 * them before each instruction. */
typedef struct {
    int base;
    npy_intp offset; /* bytes */
    npy_intp row;    /* bytes per row */
    npy_intp low;    /* the rows that walk along it: from this one on */
    npy_intp high;   /* and below this one */
} dg_stream;

enum { DG_MAX_STREAMS = 16, DG_LINE = 64 };

typedef struct {
    int count;
    dg_stream at[DG_MAX_STREAMS];
} dg_streams;

enum { DG_F_MUL, DG_F_ABSORB, DG_F_ADD, DG_F_SUB, DG_F_BUS, DG_F_KINDS }; /* BUS: SUB with its operands exchanged */

/* Operations on single numbers: those, and these. */
enum { DG_S_FUSED_3 = DG_F_KINDS, DG_S_FUSED_4, DG_S_NEG, DG_S_SQUARE, DG_S_DIV, DG_S_RECIPROCAL, DG_S_CALL, DG_S_OTHER };

typedef struct {
    short op, inner, outer, second, wide, n_in;
    int base[5], offset[5];
    dg_loop fn;
    void *data;
} dg_scalar;

/* Machine code in place of instructions; see executor/native.h. */
enum { DG_NATIVE_ARGS = 256 };

/* How many of n elements it has done, from the first one on; it has written nothing behind them. */
typedef npy_intp (*dg_native_loop)(char **args, npy_intp n);

/* Whether nan was met: then what it has written means nothing. */
typedef int (*dg_native_numbers)(char *const *bases, void *const *calls);

/* The code of a run. Its instruction has operands that tell the rows of a block: the first moves by one byte from row to
 * row of the whole array, the second from row to row of the block. */
typedef struct {
    dg_native_loop fn;
    const dg_instruction *run; /* the instructions that it stands for, */
    npy_intp count;            /* and their number */
    int n_args;
    dg_operand arg[DG_NATIVE_ARGS];
} dg_native;

typedef struct {
    const dg_instruction *program;
    npy_intp count, rows, block;
    int workers;
    const dg_streams *ahead;
    npy_intp done, chunk;         /* rows of each worker's part: those that have been gone over, and how many follow */
    char **bases[DG_MAX_THREADS]; /* of each worker: its own block memory and totals */
} dg_region;

#endif
