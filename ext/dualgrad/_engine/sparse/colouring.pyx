"""Colourings of sparsity patterns: one sweep computes all columns of a colour.

A pattern is given by rows, ``starts`` (int64) and ``members`` (int32); two columns of a Jacobian may share a colour if
no row holds both (Curtis, Powell and Reid, On the estimation of sparse Jacobian matrices, 1974). A Hessian holds each
entry twice, so a star colouring is enough: any two colours induce a forest of stars. An entry is read at the end where
no other entry is added to it (Coleman and Moré, Estimation of sparse Hessian matrices and graph coloring problems,
1984). The algorithm stores the stars (Gebremedhin, Tarafdar, Manne and Pothen, New acyclic and star coloring algorithms
with application to computing Hessians, 2007).

Colourings are greedy. The order of the vertices determines the number of colours: natural, largest first, smallest
last, incidence degree. Degrees are counted in the graph whose neighbours must differ: columns that share a row, or for
a Hessian the pattern itself.
"""
from ..arrays.array import np


cdef struct Graph:
    const long long *starts         # the neighbours of a vertex, or the rows of a column
    const int *members
    const long long *rows           # the columns of a row; NULL if members are neighbours
    const int *columns
    Py_ssize_t n
    long long *seen                 # vertex -> the latest stamp with which it was found
    long long stamp


cdef Py_ssize_t neighbours(Graph *g, Py_ssize_t v, int *found) noexcept nogil:
    """Write the neighbours of v to `found`, each once; return their number."""
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
    # linked lists of vertices by degree: one vertex is taken at a time, and its neighbours change lists
    most = int(degrees.max(initial=0))
    order = np.empty(n, np.int64)
    lists = np.full((3, n), -1, np.int64)
    taken_flags = np.zeros(n, np.uint8)
    cdef long long[::1] result = order
    cdef long long[:, ::1] chain = lists
    cdef unsigned char[::1] taken = taken_flags
    cdef long long *head = &chain[0, 0]
    cdef long long *after = &chain[1, 0]
    cdef long long *before = &chain[2, 0]
    cdef long long top = most + 1
    if not smallest:            # incidence degree: the number of neighbours taken; the largest degree first among ties
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


cdef int init_graph(Graph *g, const long long[::1] starts, const int[::1] members, long long[::1] seen) except -1:
    """A graph whose edges are the entries of a symmetric pattern."""
    g.starts = &starts[0]
    g.members = &members[0]
    g.rows = NULL
    g.columns = NULL
    g.n = starts.shape[0] - 1
    g.seen = &seen[0]
    g.stamp = 0
    return 0


cdef long long smallest_allowed(const long long *forbidden, long long v) noexcept nogil:
    """The smallest colour that is not forbidden to v."""
    cdef long long c = 0
    while forbidden[c] == v:
        c += 1
    return c


def colour_columns(const long long[::1] rows, const int[::1] columns, const long long[::1] starts,
                   const int[::1] members, str order):
    """A colour for each column, from 0; -1 for an empty one. `starts`, `members`: the pattern by columns."""
    cdef Graph g
    cdef Py_ssize_t n = starts.shape[0] - 1, k
    cdef long long v
    result = np.full(n, -1, np.int64)
    if columns.shape[0] == 0:
        return result
    cdef long long[::1] seen = np.zeros(n + 1, np.int64)     # held while the graph points to it
    init_graph(&g, starts, members, seen)
    g.rows = &rows[0]
    g.columns = &columns[0]
    cdef const long long[::1] sequence = order_of(&g, order)
    cdef long long[::1] colour = result
    cdef long long[::1] forbidden = np.full(n + 1, -1, np.int64)
    with nogil:
        for k in range(n):
            v = sequence[k]
            if starts[v] < starts[v + 1]:
                forbid_sharing(&g, v, &colour[0], &forbidden[0])
                colour[v] = smallest_allowed(&forbidden[0], v)
    return result


cdef void forbid_sharing(Graph *g, long long v, const long long *colour, long long *forbidden) noexcept nogil:
    """Forbid v the colours of all columns that share a row with it."""
    cdef long long i, j
    for i in range(g.starts[v], g.starts[v + 1]):
        for j in range(g.rows[g.members[i]], g.rows[g.members[i] + 1]):
            if colour[g.columns[j]] >= 0:
                forbidden[colour[g.columns[j]]] = v


# ---------------------------------------------------------------------------------------------------- star colouring

cdef struct Stars:
    const long long *starts         # of the edges of each vertex
    const int *members              # edge -> the vertex at its far end
    const long long *mates          # edge -> the same edge as listed at its far end
    long long *colour               # of each vertex; -1: not coloured yet
    long long *forbidden            # colour -> the vertex to which it is forbidden
    long long *first_from           # colour -> the last vertex that has a neighbour of this colour
    long long *first_edge           # colour -> the first edge from that vertex to such a neighbour
    long long *treated              # vertex -> the vertex to which the colours of its neighbours were forbidden
    long long *star                 # of each edge
    long long *hub                  # the centre of each star; -1: one edge, no centre yet
    long long n_stars
    long long *sample               # of each vertex: one edge to each colour among its neighbours,
    long long *samples              # of each vertex: the number of its sample edges
    long long *hubs                 # of each vertex: centres of the stars that end there
    long long *n_hubs               # of each vertex: their number; both lists begin at starts


cdef long long edge_to(Stars *s, long long w, long long c) noexcept nogil:
    """An edge of w to a vertex of colour c, or -1. The time does not grow with the number of neighbours of w."""
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


cdef void forbid_around(Stars *s, long long w, long long v) noexcept nogil:
    """Forbid v the colours of all neighbours of w."""
    cdef long long j
    for j in range(s.starts[w], s.starts[w] + s.samples[w]):
        s.forbidden[s.colour[s.members[s.sample[j]]]] = v
    s.treated[w] = v


cdef void forbid_stars(Stars *s, long long v) noexcept nogil:
    """Forbid v each colour that would leave only two colours on a path of four vertices."""
    cdef long long i, j, w, c, first
    for i in range(s.starts[v], s.starts[v + 1]):
        w = s.members[i]
        c = s.colour[w]
        if w == v or c < 0:
            continue
        s.forbidden[c] = v
        if s.first_from[c] == v:                    # two neighbours share a colour: v will be the centre
            first = s.members[s.first_edge[c]]
            if s.treated[first] != v:
                forbid_around(s, first, v)
            forbid_around(s, w, v)
            continue
        s.first_from[c] = v
        s.first_edge[c] = i
        for j in range(s.starts[w], s.starts[w] + s.n_hubs[w]):
            s.forbidden[s.colour[s.hubs[j]]] = v


cdef long long join_star(Stars *s, long long edge, long long centre, long long end) noexcept nogil:
    """Add another edge to the star of an edge; return the star. Record the centre at the far ends of both edges."""
    cdef long long star = s.star[edge]
    if s.hub[star] < 0:
        s.hub[star] = centre
        add_hub(s, s.members[edge], centre)
    add_hub(s, end, centre)
    return star


cdef void note_stars(Stars *s, long long v) noexcept nogil:
    """Put each edge of v into a star, after v got its colour."""
    cdef long long i, w, other, first, star
    for i in range(s.starts[v], s.starts[v + 1]):
        w = s.members[i]
        if w == v:
            continue
        if s.colour[w] >= 0:
            other = edge_to(s, w, s.colour[v])
            first = s.first_edge[s.colour[w]]
            if other >= 0:                          # another neighbour of w has the colour of v
                star = join_star(s, other, w, v)
            elif s.members[first] != w:             # another neighbour of v, found before w, has the colour of w
                star = join_star(s, first, v, w)
            else:
                star = s.n_stars
                s.n_stars += 1
            s.star[i] = star
            s.star[s.mates[i]] = star
        add_sample(s, w, s.mates[i])


cdef void read_ends(Stars *s, Py_ssize_t n, long long *at) noexcept nogil:
    """For each entry, choose the end at which it is read: the end that is not the centre."""
    cdef long long v, w, i, hub
    for v in range(n):
        for i in range(s.starts[v], s.starts[v + 1]):
            w = s.members[i]
            hub = v if w == v else s.hub[s.star[i]]
            if w == v:
                at[i] = v
            elif hub < 0:                           # choose either end, but the same for both entries
                at[i] = min(v, w)
            else:
                at[i] = w if hub == v else v


def colour_stars(const long long[::1] starts, const int[::1] members, const long long[::1] mates, str order):
    """A star colouring of a symmetric pattern: the colour of each vertex, and the end at which each entry is read.

    `mates`: the index of each entry's transposed entry. An entry (i, j) is read in the row of the chosen end, from the
    sum of all columns with the other end's colour. Both entries are read at the same place.
    """
    cdef Graph g
    cdef Stars s
    cdef Py_ssize_t n = starts.shape[0] - 1, k, m = members.shape[0]
    cdef long long v
    colours = np.full(n, -1, np.int64)
    read_at = np.empty(m, np.int64)
    if m == 0:
        return colours, read_at
    cdef long long[::1] seen = np.zeros(n + 1, np.int64)     # held while the graph points to it
    init_graph(&g, starts, members, seen)
    cdef const long long[::1] sequence = order_of(&g, order)
    cdef long long[::1] colour = colours, at = read_at
    cdef long long[:, ::1] of_vertices = np.full((4, n + 1), -1, np.int64)
    cdef long long[:, ::1] of_edges = np.full((2, m + 1), -1, np.int64)
    cdef long long[:, ::1] lists = np.empty((2, m), np.int64)
    cdef long long[:, ::1] lengths = np.zeros((2, n), np.int64)
    s = Stars(&starts[0], &members[0], &mates[0], &colour[0], &of_vertices[0, 0], &of_vertices[1, 0],
              &of_vertices[2, 0], &of_vertices[3, 0], &of_edges[0, 0], &of_edges[1, 0], 0, &lists[0, 0],
              &lengths[0, 0], &lists[1, 0], &lengths[1, 0])
    with nogil:
        for k in range(n):
            v = sequence[k]
            if starts[v] < starts[v + 1]:
                forbid_stars(&s, v)
                colour[v] = smallest_allowed(s.forbidden, v)
                note_stars(&s, v)
        read_ends(&s, n, &at[0])
    return colours, read_at
