"""Colourings of sparsity patterns, so that columns of a colour can be computed in one sweep.

A pattern is given by rows, ``starts`` (int64) and ``members`` (int32); two columns of a Jacobian may share a colour if
no row holds both (Curtis, Powell and Reid, On the estimation of sparse Jacobian matrices, 1974). For a Hessian, whose
entries appear twice, less is asked: in a star colouring any two colours induce a forest of stars, and an entry is read
where it stands alone (Coleman and Moré, Estimation of sparse Hessian matrices and graph coloring problems, 1984). The
algorithm keeps the stars while it goes (Gebremedhin, Tarafdar, Manne and Pothen, New acyclic and star coloring
algorithms with application to computing Hessians, 2007).

Colourings are greedy, and an order of the vertices decides how many colours they need: natural, largest first,
smallest last, incidence degree. Degrees are counted in the graph whose neighbours must differ: columns that share a
row, or, for a Hessian, the pattern itself.
"""
import numpy as np

cdef struct Graph:
    const long long *starts         # neighbours, or the rows of a column,
    const int *members
    const long long *rows           # and the columns of a row; NULL if neighbours are direct
    const int *columns
    Py_ssize_t n
    long long *seen
    long long stamp


cdef Py_ssize_t neighbours(Graph *g, Py_ssize_t v, int *found) noexcept nogil:
    """Write down the vertices that v is next to, each once; their number."""
    cdef Py_ssize_t count = 0
    cdef long long i, j
    cdef int w
    g.stamp += 1
    g.seen[v] = g.stamp
    for i in range(g.starts[v], g.starts[v + 1]):
        if g.rows is NULL:
            w = g.members[i]
            if g.seen[w] != g.stamp:
                g.seen[w] = g.stamp
                found[count] = w
                count += 1
            continue
        for j in range(g.rows[g.members[i]], g.rows[g.members[i] + 1]):
            w = g.columns[j]
            if g.seen[w] != g.stamp:
                g.seen[w] = g.stamp
                found[count] = w
                count += 1
    return count


cdef void unlink(Py_ssize_t v, long long degree, long long *head, long long *after, long long *before) noexcept nogil:
    if before[v] >= 0:
        after[before[v]] = after[v]
    else:
        head[degree] = after[v]
    if after[v] >= 0:
        before[after[v]] = before[v]


cdef void link(Py_ssize_t v, long long degree, long long *head, long long *after, long long *before) noexcept nogil:
    before[v] = -1
    after[v] = head[degree]
    if head[degree] >= 0:
        before[head[degree]] = v
    head[degree] = v


cdef order_of(Graph *g, str kind):
    """The vertices in one of the four orders."""
    cdef Py_ssize_t n = g.n, i, k, count
    cdef long long v, w, level
    cdef bint smallest = kind == "smallest_last"
    if kind == "natural":
        return np.arange(n, dtype=np.int64)
    degrees = np.zeros(n, np.int64)
    room = np.empty(n + 1, np.int32)
    cdef long long[::1] degree = degrees
    cdef int[::1] found = room
    with nogil:
        for i in range(n):
            degree[i] = neighbours(g, i, &found[0])
    if kind == "largest_first":
        return np.argsort(-degrees, kind="stable")
    # vertices by degree in linked lists; one is taken at a time, and its neighbours move to the next list
    most = int(degrees.max(initial=0))
    order = np.empty(n, np.int64)
    lists = np.full((3, max(n, most + 2)), -1, np.int64)
    taken_flags = np.zeros(n, np.uint8)
    cdef long long[::1] result = order
    cdef long long[:, ::1] chain = lists
    cdef unsigned char[::1] taken = taken_flags
    cdef long long *head = &chain[0, 0]
    cdef long long *after = &chain[1, 0]
    cdef long long *before = &chain[2, 0]
    cdef long long top = most + 1
    if not smallest:            # incidence degree: neighbours that were taken; ties by the largest degree come first
        by_degree = np.argsort(degrees, kind="stable")
        degrees[:] = 0
    else:
        by_degree = np.arange(n - 1, -1, -1)
    cdef const long long[::1] initial = by_degree
    with nogil:
        for i in range(n):
            link(initial[i], degree[initial[i]], head, after, before)
        level = 0
        for k in range(n):
            if smallest:
                while head[level] < 0:
                    level += 1
            else:
                if level > top:
                    level = top
                while head[level] < 0:
                    level -= 1
            v = head[level]
            unlink(v, level, head, after, before)
            taken[v] = 1
            result[n - 1 - k if smallest else k] = v
            count = neighbours(g, v, &found[0])
            for i in range(count):
                w = found[i]
                if taken[w]:
                    continue
                unlink(w, degree[w], head, after, before)
                degree[w] += -1 if smallest else 1
                link(w, degree[w], head, after, before)
            level = level - 1 if smallest and level > 0 else level + (0 if smallest else 1)
    return order


def colour_columns(const long long[::1] rows, const int[::1] columns, const long long[::1] starts,
                   const int[::1] members, str order):
    """A colour for each column, from 0 on; -1 where a column is empty. `starts`, `members`: the same by columns."""
    cdef Graph g
    cdef Py_ssize_t n = starts.shape[0] - 1, k, c
    cdef long long v, i, j
    seen = np.zeros(n + 1, np.int64)
    cdef long long[::1] seen_view = seen
    result = np.full(n, -1, np.int64)
    if columns.shape[0] == 0:
        return result
    g.starts = &starts[0]
    g.members = &members[0]
    g.rows = &rows[0]
    g.columns = &columns[0]
    g.n = n
    g.seen = &seen_view[0]
    g.stamp = 0
    cdef const long long[::1] sequence = order_of(&g, order)
    taken = np.full(n + 1, -1, np.int64)
    cdef long long[::1] colour = result
    cdef long long[::1] forbidden = taken
    with nogil:
        for k in range(n):
            v = sequence[k]
            if starts[v] == starts[v + 1]:
                continue
            for i in range(starts[v], starts[v + 1]):
                for j in range(rows[members[i]], rows[members[i] + 1]):
                    if colour[columns[j]] >= 0:
                        forbidden[colour[columns[j]]] = v
            c = 0
            while forbidden[c] == v:
                c += 1
            colour[v] = c
    return result


cdef struct Stars:
    const long long *starts
    const int *members
    const long long *colour
    long long *sample               # for each vertex one edge to each colour among its neighbours,
    long long *samples
    long long *hubs                 # and the centres of stars it is the end of; both begin where its edges do
    long long *n_hubs


cdef long long edge_to(Stars *s, long long w, long long c) noexcept nogil:
    """An edge of w to a vertex of a colour, or -1; in time that does not grow with the neighbours of w."""
    cdef long long j
    for j in range(s.starts[w], s.starts[w] + s.samples[w]):
        if s.colour[s.members[s.sample[j]]] == c:
            return s.sample[j]
    return -1


cdef void add_sample(Stars *s, long long w, long long edge) noexcept nogil:
    if edge_to(s, w, s.colour[s.members[edge]]) < 0:
        s.sample[s.starts[w] + s.samples[w]] = edge
        s.samples[w] += 1


cdef void add_hub(Stars *s, long long w, long long centre) noexcept nogil:
    s.hubs[s.starts[w] + s.n_hubs[w]] = centre
    s.n_hubs[w] += 1


cdef void forbid_around(Stars *s, long long w, long long v, long long *forbidden) noexcept nogil:
    """The colours of all neighbours of w are not for v."""
    cdef long long j
    for j in range(s.starts[w], s.starts[w] + s.samples[w]):
        forbidden[s.colour[s.members[s.sample[j]]]] = v


def colour_stars(const long long[::1] starts, const int[::1] members, const long long[::1] mates, str order):
    """A star colouring of a symmetric pattern: a colour for each vertex, and for each entry the end it is read at.

    `mates`: where the transposed entry of each stands. An entry (i, j) is read in the row of that end, from the column
    that adds up the colour of the other; both entries are read at the same place.
    """
    cdef Graph g
    cdef Py_ssize_t n = starts.shape[0] - 1, k, c, m = members.shape[0]
    cdef long long v, w, i, j, e, stars = 0, star
    seen = np.zeros(n + 1, np.int64)
    cdef long long[::1] seen_view = seen
    colours = np.full(n, -1, np.int64)
    read_at = np.empty(m, np.int64)
    if m == 0:
        return colours, read_at
    g.starts = &starts[0]
    g.members = &members[0]
    g.rows = NULL
    g.columns = NULL
    g.n = n
    g.seen = &seen_view[0]
    g.stamp = 0
    cdef const long long[::1] sequence = order_of(&g, order)
    work = np.full((4, n + 1), -1, np.int64)
    edges = np.full(m, -1, np.int64)
    centres = np.full(m + 1, -1, np.int64)
    lists = np.empty((2, m), np.int64)
    lengths = np.zeros((2, n), np.int64)
    cdef long long[:, ::1] table = work
    cdef long long[:, ::1] lists_view = lists
    cdef long long[:, ::1] lengths_view = lengths
    cdef Stars s
    cdef long long *forbidden = &table[0, 0]
    cdef long long *first_from = &table[1, 0]       # the vertex that last met a colour among its neighbours
    cdef long long *first_edge = &table[2, 0]       # and its first edge to one
    cdef long long *treated = &table[3, 0]
    cdef long long[::1] colour = colours
    cdef long long[::1] star_of = edges             # for each entry (i, j) with i != j
    cdef long long[::1] hub = centres               # -1: a star of one edge has no centre yet
    cdef long long[::1] at = read_at
    s.starts = &starts[0]
    s.members = &members[0]
    s.colour = &colour[0]
    s.sample = &lists_view[0, 0]
    s.samples = &lengths_view[0, 0]
    s.hubs = &lists_view[1, 0]
    s.n_hubs = &lengths_view[1, 0]
    with nogil:
        for k in range(n):
            v = sequence[k]
            if starts[v] == starts[v + 1]:
                continue
            for i in range(starts[v], starts[v + 1]):
                w = members[i]
                if w == v or colour[w] < 0:
                    continue
                c = colour[w]
                forbidden[c] = v
                if first_from[c] == v:              # two neighbours share a colour: v will be the centre
                    e = first_edge[c]
                    if treated[members[e]] != v:
                        forbid_around(&s, members[e], v, forbidden)
                        treated[members[e]] = v
                    forbid_around(&s, w, v, forbidden)
                    treated[w] = v
                else:
                    first_from[c] = v
                    first_edge[c] = i
                    for j in range(starts[w], starts[w] + s.n_hubs[w]):
                        forbidden[colour[s.hubs[j]]] = v
            c = 0
            while forbidden[c] == v:
                c += 1
            colour[v] = c
            for i in range(starts[v], starts[v + 1]):
                w = members[i]
                if w == v:
                    continue
                if colour[w] >= 0:
                    j = edge_to(&s, w, c)
                    e = first_edge[colour[w]]
                    if j >= 0:                      # another neighbour of w has the colour of v
                        star = star_of[j]
                        if hub[star] < 0:
                            hub[star] = w
                            add_hub(&s, members[j], w)
                        add_hub(&s, v, w)
                    elif members[e] != w:           # another neighbour of v, which came before, that of w
                        star = star_of[e]
                        if hub[star] < 0:
                            hub[star] = v
                            add_hub(&s, members[e], v)
                        add_hub(&s, w, v)
                    else:
                        star = stars
                        stars += 1
                    star_of[i] = star
                    star_of[mates[i]] = star
                add_sample(&s, w, mates[i])
        for v in range(n):
            for i in range(starts[v], starts[v + 1]):
                w = members[i]
                if w == v:
                    at[i] = v
                elif hub[star_of[i]] < 0:           # either end would do; the same one for both entries
                    at[i] = min(v, w)
                else:
                    at[i] = w if hub[star_of[i]] == v else v
    return colours, read_at
