# Python objects, read without running code of their classes. See objects.pyx.
from cpython.object cimport PyObject, PyTypeObject

from .executed cimport OURS, Trust

cdef extern from "Python.h":
    bint PyFunction_Check(object x)
    bint PyMethod_Check(object x)
    bint PyModule_Check(object x)
    bint PyCFunction_Check(object x)
    PyObject **_PyObject_GetDictPtr(PyObject *x)
    object PyObject_GenericGetDict(object x, void *nothing)
    PyObject *PyModule_GetDict(object x)           # borrowed
    bint PyType_IsSubtype(PyTypeObject *a, PyTypeObject *b)

cdef extern from *:
    """
    #include <structmember.h>
    /* The pointer in an object behind a descriptor of `__slots__`; NULL for other descriptors. */
    static inline PyObject **dg_slot_at(PyObject *holder, PyObject *descriptor)
    {
        const PyMemberDef *member;
        if (Py_TYPE(descriptor) != &PyMemberDescr_Type) return NULL;
        member = ((PyMemberDescrObject *)descriptor)->d_member;
        if (member->type != T_OBJECT_EX && member->type != T_OBJECT) return NULL;
        return (PyObject **)((char *)holder + member->offset);
    }
    static inline PyObject **dg_cell_at(PyObject *cell) { return &((PyCellObject *)cell)->ob_ref; }
    static inline PyObject **dg_field_of_function(PyObject *f, int field)
    {
        PyFunctionObject *function = (PyFunctionObject *)f;
        PyObject **fields[] = {&function->func_code, &function->func_defaults, &function->func_kwdefaults,
                               &function->func_dict, &function->func_name, &function->func_qualname,
                               &function->func_doc, &function->func_module, &function->func_annotations};
        return fields[field];
    }
    static inline PyObject **dg_class_at(PyObject *x) { return (PyObject **)&x->ob_type; }
    static inline PyObject **dg_mro_at(PyObject *t) { return &((PyTypeObject *)t)->tp_mro; }
    static inline PyObject *dg_attributes_of_type(PyObject *t)
    {
    #if PY_VERSION_HEX >= 0x030C0000
        return PyType_GetDict((PyTypeObject *)t);
    #else
        Py_INCREF(((PyTypeObject *)t)->tp_dict);
        return ((PyTypeObject *)t)->tp_dict;
    #endif
    }
    static inline void *dg_dealloc_of(PyObject *t) { return (void *)((PyTypeObject *)t)->tp_dealloc; }
    /* __name__ and __qualname__ of a Python class. */
    static inline PyObject **dg_name_at(PyObject *t) { return &((PyHeapTypeObject *)t)->ht_name; }
    static inline PyObject **dg_qualname_at(PyObject *t) { return &((PyHeapTypeObject *)t)->ht_qualname; }
    """
    PyObject **dg_slot_at(PyObject *holder, PyObject *descriptor)
    PyObject **dg_cell_at(PyObject *cell)
    PyObject **dg_field_of_function(PyObject *f, int field)
    PyObject **dg_class_at(PyObject *x)
    PyObject **dg_mro_at(PyObject *t)
    object dg_attributes_of_type(PyObject *t)
    void *dg_dealloc_of(PyObject *t)
    PyObject **dg_name_at(PyObject *t)
    PyObject **dg_qualname_at(PyObject *t)

cdef object address(object x)
cdef set addresses(tuple kinds)
cdef bint derives(object kind, object base)
cdef object module_of(object kind)
cdef str name_of_module(object kind)
cdef object qualname_of(object kind)
cdef bint of_python(object t)
cdef Trust trust_of_class(object t) except? OURS
cdef list slots_of_class(object kind)
cdef tuple mro_of(object kind)
cdef dict attributes_of_module(object x)
cdef dict attributes_of_class(object kind)
