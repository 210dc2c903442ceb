/** What the parts of the library find: the prelude's `libraryHost`, and the evaluation of expressions. */
declare const host: GuestFunctions
declare const expressions: GuestFunctions
/** Compiled patterns of conditions. */
declare const patterns: GuestFunctions

/** Functions by name. */
// oxlint-disable-next-line typescript/no-explicit-any -- A workflow passes values of any kind.
type GuestFunctions = { readonly [name: string]: any }
