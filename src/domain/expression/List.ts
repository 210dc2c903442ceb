/** Whether a value is a list; narrows lists that cannot be written to, which `Array.isArray` does not. */
export const isList = <A>(value: A): value is Extract<A, ReadonlyArray<unknown>> => Array.isArray(value)
