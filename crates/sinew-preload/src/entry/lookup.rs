//! Names that a program looks up while it runs, as `ctypes` does, and compilers that work in a
//! running program.
//!
//! A name that the dynamic linker binds leads to this library. A name that is looked up in an
//! object leads to that object's own function. So this library replaces `dlsym`, too. The program
//! gets an entry of this library, bound to the runtime that defines the name, because the call site
//! does not tell the runtime.
//!
//! # Not handled
//!
//! `dlvsym`, and programs that read the tables of an object themselves.

use core::ffi::{CStr, c_void};

use super::stubs;
use crate::functions::Function;
use crate::runtime;
use crate::system::{self, Handle};

/// The address of `name` in the object or search order `handle`, for a call from `call_site`.
/// `None` if the C library's `dlsym` is to find it.
///
/// Null if the program would not find the name without this library. Then the C library has
/// recorded an error for `dlerror`, as it would without this library.
pub(crate) fn find(call_site: usize, handle: *mut c_void, name: &CStr) -> Option<*mut c_void> {
    let function = Function::stood_in_for(name)?;
    if !system::is_object(handle) {
        // The order of search begins with this library, or with an object after it that the C
        // library knows.
        let is_missing = function.is_runtimes() && !runtime::exists(function, call_site);
        return is_missing.then(|| missing(name));
    }
    let found = system::definition_in(Handle(handle), name);
    if found.is_null() {
        return Some(found);
    }
    if !function.is_runtimes() {
        let is_c_librarys = found == system::next_definition(name);
        return Some(if is_c_librarys { stubs::exported_by(function) } else { found });
    }
    if runtime::is_own(found) {
        return Some(if runtime::exists(function, call_site) { found } else { missing(name) });
    }
    // A program that has a runtime linked into itself is left alone.
    Some(runtime::defines(found).map_or(found, |number| stubs::bound(number, function)))
}

/// Null, with an error recorded. The caller could not find the name, so it is not defined after
/// this library either.
fn missing(name: &CStr) -> *mut c_void {
    system::next_definition(name)
}
