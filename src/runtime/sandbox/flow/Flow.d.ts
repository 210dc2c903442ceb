/** What the parts of the flow library find: the prelude's `flowHost`, and the evaluation of expressions. */
declare const host: GuestFlowPart
declare const expressions: GuestFlowPart
/** Compiled patterns of conditions. */
declare const patterns: GuestFlowPart

/** Functions by name; a flow passes values of any kind. */
type GuestFlowPart = { readonly [name: string]: any } // oxlint-disable-line typescript/no-explicit-any
